/**
 * Limits of lanes and of a caller's settings for them. The client, the HTTP API, the command line
 * and the planner all check against these.
 */

/** Most items per lane batch, whatever the limit of its handler. */
export const BATCH_ITEMS_MAX = 10_000;
/**
 * Most state keys that one batch reads, and most that it writes. A batch with more should be split,
 * or have coarser keys.
 */
export const STATE_KEYS_MAX = 1_000;
/**
 * Most bytes of one state key in UTF-8, since the sets of pending batches are stored and compared.
 */
export const STATE_KEY_BYTES_MAX = 256;
/**
 * Most explicit dependencies per batch. A caller that needs more should use one lane, or a batch as
 * a barrier.
 */
export const DEPENDENCIES_MAX = 1_000;
/**
 * Most bytes of the name that a batch has within one call, for the dependencies of other batches.
 */
export const BATCH_KEY_BYTES_MAX = 256;
/** Most bytes of a service's name in UTF-8. */
export const SERVICE_BYTES_MAX = 512;
/** Largest weight of a lane, so that places stay exact whole numbers over 10^7 grants. */
export const WEIGHT_MAX = 10_000;
/** Most submitters per queuer, which is the number of batches sent at once. */
export const SLOTS_MAX = 1_000;
/** Most rounds at a time of the strategy `multi-round`. */
export const DEPTH_MAX = 1_000;
/** Largest age by which lanes are listed: as long as a duration of the command line may be. */
export const LISTED_AGE_MAX_MS = 2_147_483_647;
