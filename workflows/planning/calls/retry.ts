/** Waits at or above this are left to the store and a timer: a slot is never held for them. */
export const IN_PLACE_BELOW_MS = 2_000;

/**
 * Beyond this many doublings every sensible `maxMs` has been passed; the bound keeps 0 * Infinity
 * (NaN) out.
 */
const MAX_DOUBLINGS = 52;

/**
 * Returns the wait in milliseconds before attempt number `attempt + 1`, without jitter: `baseMs`,
 * then doubled, at most `maxMs`. `attempt` counts from 1; less is taken as 1.
 */
export function backoffMs(policy: { baseMs: number; maxMs: number }, attempt: number): number {
  const doublings = Math.min(Math.max(attempt - 1, 0), MAX_DOUBLINGS);
  return Math.min(policy.maxMs, policy.baseMs * 2 ** doublings);
}

/**
 * Applies full jitter: a whole number of milliseconds uniform in [0, ms], but at least 1, so that a
 * wait is always a wait. `random` is uniform in [0, 1).
 */
export function withFullJitter(ms: number, random: () => number): number {
  return Math.max(1, Math.floor(random() * (Math.floor(ms) + 1)));
}

/**
 * Returns the wait inside the running activity before in-place repeat number `repeat` (from 1),
 * without jitter: `baseMs` doubled each time. Null: the `times` are used up, or the wait is too
 * long to hold a slot for; the wait is then a durable one.
 */
export function inPlaceMs(policy: { times: number; baseMs: number }, repeat: number): number | null {
  if (repeat > policy.times) return null;
  const ms = backoffMs({ baseMs: policy.baseMs, maxMs: IN_PLACE_BELOW_MS }, repeat);
  return ms < IN_PLACE_BELOW_MS ? ms : null;
}
