/**
 * Waits of this many milliseconds or more are left to the store and a timer, so that they hold no
 * slot.
 */
export const IN_PLACE_BELOW_MS = 2_000;

/**
 * After this many doublings every sensible `maxMs` is exceeded. The bound avoids 0 * Infinity,
 * which is NaN.
 */
const MAX_DOUBLINGS = 52;

/**
 * Returns the wait in milliseconds before attempt number `attempt + 1`, without jitter: `baseMs`,
 * doubled for each further attempt, at most `maxMs`. `attempt` counts from 1; a smaller number is
 * treated as 1.
 */
export function backoffMs(policy: { baseMs: number; maxMs: number }, attempt: number): number {
  const doublings = Math.min(Math.max(attempt - 1, 0), MAX_DOUBLINGS);
  return Math.min(policy.maxMs, policy.baseMs * 2 ** doublings);
}

/**
 * Applies full jitter: returns a whole number of milliseconds uniform in [0, ms], but at least 1,
 * so that there is always some wait. `random` is uniform in [0, 1).
 */
export function withFullJitter(ms: number, random: () => number): number {
  return Math.max(1, Math.floor(random() * (Math.floor(ms) + 1)));
}

/**
 * Returns how many milliseconds the running activity waits before in-place repeat number `repeat`
 * (from 1), without jitter: `baseMs`, doubled for each further repeat. Null: all `times` repeats
 * are used up, or the wait is too long to hold a slot; the batch then waits in the store.
 */
export function inPlaceMs(policy: { times: number; baseMs: number }, repeat: number): number | null {
  if (repeat > policy.times) return null;
  const ms = backoffMs({ baseMs: policy.baseMs, maxMs: IN_PLACE_BELOW_MS }, repeat);
  return ms < IN_PLACE_BELOW_MS ? ms : null;
}
