/**
 * How long a workflow waits for a worker to start a dispatch, in milliseconds, as long as none was
 * late.
 */
export const START_LIMIT_MS = 20_000;

/**
 * The longest such wait, in milliseconds. An overloaded Temporal was seen to start dispatches 46 s
 * late. The price: a dispatch that Temporal has lost, or whose node has died since, is also waited
 * for this long.
 */
const MOST_MS = 60_000;

/**
 * Returns how long to wait for a worker to start a dispatch, in milliseconds: `leastMs`, or twice
 * as long as the dispatches before have waited in vain (`inVainMs`, up to a minute) if that is
 * longer. An overloaded Temporal starts dispatches late: with a fixed limit each would be given up
 * just before it started, and nothing would ever be sent.
 */
export const startLimitMs = (leastMs: number, inVainMs: number): number =>
  Math.max(leastMs, Math.min(2 * inVainMs, MOST_MS));
