/**
 * When something counts as stalled: the same for `verify`, `status`, `explain`, `/healthz`
 * and the metrics.
 */

/**
 * A turn answers a wake within a second, after a lost worker within some; the sweeper repeats the
 * wake every few seconds.
 */
export const UNANSWERED_MS = 30_000;

/**
 * A call ends at its deadline; what a lost process left is taken over after its heartbeats have
 * stopped.
 */
export const OVERDUE_CALL_MS = 45_000;

/**
 * Due work that a monitor, the notifier, the balancer or an execution has left alone for so long,
 * without any other sign of it, has stalled.
 */
export const STALLED_MS = 60_000;

/**
 * A long poll comes back within a minute, with work or without. An open one without an answer for
 * this much longer hangs.
 */
export const POLL_MS = 60_000;
export const POLL_HANGS_MS = 75_000;

/**
 * Polls that are repeatedly cut off do not hang; but without any answer for so long they count as
 * if they did.
 */
export const POLL_BROKEN_MS = 180_000;

/**
 * Temporal left other requests unanswered for so long: the time of its polls begins when it is
 * back, and the SDK has begun new ones within the second.
 */
export const POLL_AWAY_MS = 10_000;
export const POLL_RETRY_MS = 15_000;

/** Time of refused polls, or failed workflow tasks, without a success in between. */
export const POLL_REFUSED_MS = 30_000;

/** The SDK begins the next poll within this time, if the server takes it. */
export const POLL_NEXT_MS = 5_000;

/**
 * A worker process without an answer of Temporal for so long is of no use, whatever its own state.
 * A restart of a server takes less.
 */
export const TEMPORAL_SILENT_MS = 30_000;

/** The same limit for the database: above a failover of a few seconds. */
export const DATABASE_SILENT_MS = 10_000;
