/** Longest interval between looks of a workflow that has no particular due time. */
export const IDLE_LOOK_MS = 60_000;
/**
 * Longest wait before a due time is checked again: the clocks of Postgres and Temporal may drift
 * apart.
 */
export const LONGEST_WAIT_MS = 24 * 3_600_000;

/**
 * Input of a notifier's run. It continues as new after so many events, since signals come for each
 * batch and each message of a fan-out: on a starved machine, with all workers just begun, a history
 * of 600 events was not replayed within the 15 s of a workflow task, three times. An input, and not
 * a constant of the workflow: the runs of earlier releases replay as they were.
 */
export const NOTIFIER_RUN = { mostEvents: 300 };
