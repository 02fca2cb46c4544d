/**
 * Limits of lanes and of what a caller may give for them. The only source: the client, the HTTP
 * API, the command line and the planner check against these.
 */

/** Items of one batch, whatever its handler's own limit is. */
export const BATCH_ITEMS_MAX = 10_000;
/**
 * State keys that one batch reads, and as many that it writes (C25): more says that it should be
 * split, or its keys be coarser.
 */
export const STATE_KEYS_MAX = 1_000;
/** Bytes of one state key in UTF-8: the sets of pending batches are stored and compared. */
export const STATE_KEY_BYTES_MAX = 256;
/** Explicit dependencies of one batch (C18): more says that a lane or a barrier batch is meant. */
export const DEPENDENCIES_MAX = 1_000;
/** Bytes of the name that a batch has within one call, for the dependencies of others. */
export const BATCH_KEY_BYTES_MAX = 256;
/** Bytes of a service's name in UTF-8. */
export const SERVICE_BYTES_MAX = 512;
/** Largest weight of a lane (C22): places must stay exact whole numbers over 10^7 grants. */
export const WEIGHT_MAX = 10_000;
/** Submitters of one queuer: batches that are sent at once. */
export const SLOTS_MAX = 1_000;
/** Rounds at a time of strategy `multi-round` (C24). */
export const DEPTH_MAX = 1_000;
