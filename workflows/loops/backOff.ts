/**
 * Longest wait before an activity is tried again. A process that is stopped or killed in the middle
 * of a call costs a try, however healthy the store is: with 1 minute here, a monitor whose worker
 * was stopped fifty times did nothing for 62 s after the last stop.
 */
export const MAX_BACKOFF = '10s';
