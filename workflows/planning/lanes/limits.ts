/**
 * Limits of lanes and of a caller's settings for them. The only source: the client, the HTTP API,
 * the command line and the planner check against these.
 */

/** Most items per batch, whatever its handler's limit is. */
export const BATCH_ITEMS_MAX = 10_000;
/**
 * Most state keys that one batch reads, and that it writes: a batch with more should be split, or
 * its keys be coarser.
 */
export const STATE_KEYS_MAX = 1_000;
/** Bytes of one state key in UTF-8: the sets of pending batches are stored and compared. */
export const STATE_KEY_BYTES_MAX = 256;
/** Most explicit dependencies per batch: with more, a lane or a barrier batch is meant. */
export const DEPENDENCIES_MAX = 1_000;
/** Bytes of the name that a batch has within one call, for the dependencies of others. */
export const BATCH_KEY_BYTES_MAX = 256;
/** Bytes of a service's name in UTF-8. */
export const SERVICE_BYTES_MAX = 512;
/** Largest weight of a lane: places must stay exact whole numbers over 10^7 grants. */
export const WEIGHT_MAX = 10_000;
/** Most submitters per queuer: batches that are sent at once. */
export const SLOTS_MAX = 1_000;
/** Most rounds at a time of strategy `multi-round`. */
export const DEPTH_MAX = 1_000;
/** Largest age by which lanes are listed: as long as a duration of the command line may be. */
export const LISTED_AGE_MAX_MS = 2_147_483_647;
