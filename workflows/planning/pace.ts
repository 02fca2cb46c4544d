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

/**
 * Returns how long one more waits, so that none but `burst` go faster than `perSecond`. `paceMs`:
 * of the one before, 0 for the first; the time until which the rate is used up.
 */
export const paced = (paceMs: number, nowMs: number, { perSecond, burst }: Pace): Paced => {
  const eachMs = 1_000 / perSecond;
  const fromMs = Math.max(paceMs, nowMs);
  return { waitMs: Math.max(0, fromMs - (burst - 1) * eachMs - nowMs), paceMs: fromMs + eachMs };
};
