import type { Pace } from '../calls/plans';

/**
 * Takes `cost` units of a paced rate limit: GCRA without a burst, so calls are spread evenly. In
 * every half-open window of `perMs` less than `limit` units start before the window's last call: at
 * most `limit` plus one call's units, and for unit 'calls' at most `limit` exactly.
 *
 * - A call may start at `max(pace.nextAtMs, nowMs)`; the next one `cost * perMs / limit` later.
 * - Null when the start would be later than `nowMs + horizonMs`: nothing is taken. Up to the
 *   horizon a call is claimed ahead, with its start time.
 * - A call of cost 0 takes nothing but waits its turn. `limit` and `perMs` are above 0.
 *
 * Times are milliseconds on a grid of whole microseconds, the resolution of the database's
 * timestamps: they survive being stored, and sums are exact. The step is rounded up to the grid, or
 * three thirds of a second would be a little less than one.
 */
export function takePaced(
  pace: Pace,
  cost: number,
  nowMs: number,
  horizonMs: number,
): { startAtMs: number; pace: Pace } | null {
  const nowUs = Math.round(nowMs * 1_000);
  const startUs = Math.max(Math.round(pace.nextAtMs * 1_000), nowUs);
  if (startUs > nowUs + horizonMs * 1_000) return null;
  const stepUs = Math.ceil((cost * pace.perMs * 1_000) / pace.limit);
  return { startAtMs: startUs / 1_000, pace: { ...pace, nextAtMs: (startUs + stepUs) / 1_000 } };
}
