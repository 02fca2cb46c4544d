import type { Pace } from '../calls/plans';

/**
 * Takes `cost` units of a paced rate limit. The algorithm is GCRA without a burst, so that calls
 * are spread evenly. In every half-open window of `perMs`, fewer than `limit` units start before
 * the window's last call: so fewer than `limit` plus the units of one call, and with the unit
 * `calls` at most `limit`.
 *
 * - A call may start at `max(pace.nextAtMs, nowMs)`, and the next one `cost * perMs / limit` later.
 * - Returns null, and takes nothing, if the start would be later than `nowMs + horizonMs`. Up to
 *   that horizon a call is claimed ahead, with its start time.
 * - A call of cost 0 takes no units, but waits for its turn. `limit` and `perMs` must be above 0.
 *
 * Times are milliseconds on a grid of whole microseconds, the resolution of Postgres' timestamps,
 * so that storing them does not change them, and sums are exact. The step is rounded up to the
 * grid: otherwise three thirds of a second would be a little less than one second.
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
