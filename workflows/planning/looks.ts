/** What waits for nothing in particular looks this often anyway. */
export const IDLE_LOOK_MS = 60_000;
/** A timer far ahead is checked in between: the store's clock and the server's may drift apart. */
export const LONGEST_WAIT_MS = 24 * 3_600_000;
