/** Longest interval between looks of a workflow that has no particular due time. */
export const IDLE_LOOK_MS = 60_000;
/**
 * Longest wait before a due time is checked again: the clocks of Postgres and Temporal may drift
 * apart.
 */
export const LONGEST_WAIT_MS = 24 * 3_600_000;
