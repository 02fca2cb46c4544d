/** A rate, and how many may go at once after a pause. */
export interface Pace {
  perSecond: number;
  burst: number;
}

/** When one goes, and what the next one is told. */
export interface Paced {
  waitMs: number;
  paceMs: number;
}

/** Sums of fractions are off by less than this: what is shorter is no wait. */
const ROUNDING_MS = 0.001;

/**
 * Returns how long one more waits, so that none but `burst` go faster than `perSecond`. `paceMs`:
 * of the one before, 0 for the first; the time until which the rate is used up.
 */
export const paced = (paceMs: number, nowMs: number, { perSecond, burst }: Pace): Paced => {
  const eachMs = 1_000 / perSecond;
  const fromMs = Math.max(paceMs, nowMs);
  const waitMs = fromMs - (burst - 1) * eachMs - nowMs;
  return { waitMs: waitMs < ROUNDING_MS ? 0 : waitMs, paceMs: fromMs + eachMs };
};
