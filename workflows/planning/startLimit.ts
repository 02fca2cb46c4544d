/** How long a dispatch waits for a worker to begin it, in milliseconds, if none was late. */
export const START_LIMIT_MS = 20_000;

/**
 * Longest of all, in milliseconds. An overloaded Temporal was seen to begin dispatches 46 s late;
 * one that it has lost, or whose node has died since, is waited for as long.
 */
const MOST_MS = 60_000;

/**
 * Returns how long a dispatch waits for a worker to begin it: at least twice as long as those
 * before it have waited in vain. An overloaded Temporal begins them late; with a limit that stays
 * the same each would be given up just before it began, and nothing would ever be sent.
 */
export const startLimitMs = (leastMs: number, inVainMs: number): number =>
  Math.max(leastMs, Math.min(2 * inVainMs, MOST_MS));
