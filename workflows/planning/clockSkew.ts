/**
 * How far the clock of a process is from that of the store, and when that is a fault: the same for
 * the metric, the dashboard and `muster doctor`. Pure.
 */

/** Difference of clocks that a reader of two logs would notice, in ms. */
export const SKEW_MS = 2_000;

/**
 * Returns the least difference in ms that explains what the store answered, which read its clock at
 * some moment between two of this process's; 0: none is needed.
 */
export const skewOf = (storeMs: number, begunMs: number, answeredMs: number): number =>
  Math.max(0, begunMs - storeMs, storeMs - answeredMs);

export const isSkewed = (ms: number): boolean => ms > SKEW_MS;
