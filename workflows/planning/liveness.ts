/**
 * Limits beyond which something counts as stalled, in milliseconds: the same for `verify`,
 * `status`, `explain`, `/healthz` and the metrics.
 */

/**
 * Time without an answer to a wake. A turn answers within a second, or within a few seconds after a
 * worker was lost, and the sweeper repeats the wake every few seconds.
 */
export const UNANSWERED_MS = 30_000;

/**
 * Time by which a call without a recorded outcome has passed its deadline. A call ends at its
 * deadline, and the calls of a lost process are taken over once its heartbeats are missed.
 */
export const OVERDUE_CALL_MS = 45_000;

/**
 * Time for which a monitor, the notifier, the balancer or an execution has left due work alone
 * without any other sign of life.
 */
export const STALLED_MS = 60_000;

/**
 * A long poll returns within `POLL_MS`, with or without work. A poll that is still open without an
 * answer after `POLL_HANGS_MS` hangs.
 */
export const POLL_MS = 60_000;
export const POLL_HANGS_MS = 75_000;

/**
 * Polls that are cut off again and again do not hang, but after this time without any answer they
 * are treated as if they did.
 */
export const POLL_BROKEN_MS = 180_000;

/**
 * Temporal counts as away after it has left other requests unanswered for `POLL_AWAY_MS`. The time
 * of its polls starts `POLL_RETRY_MS` after it was last found away: by then the SDK has opened new
 * polls.
 */
export const POLL_AWAY_MS = 10_000;
export const POLL_RETRY_MS = 15_000;

/** Time of refused polls, or of failed workflow tasks, without a success in between. */
export const POLL_REFUSED_MS = 30_000;

/** The SDK opens the next poll within this time, if the server accepts it. */
export const POLL_NEXT_MS = 5_000;

/**
 * Time without an answer from Temporal after which a worker process counts as unhealthy, whatever
 * its own state. Longer than a server takes to restart.
 */
export const TEMPORAL_SILENT_MS = 30_000;

/** The same limit for the database. Longer than a failover, which takes a few seconds. */
export const DATABASE_SILENT_MS = 10_000;
