/**
 * What a tenant may still have accepted: a bucket that holds what one second allows. What it has is
 * given as a whole, also if it is less than what is asked for; then it owes the rest, so that a
 * large request is accepted at all.
 */
export interface Pace {
  level: number;
  atMs: number;
}

/** Returns the bucket as it is now; one that was never used is full. */
export const filled = (pace: Pace | undefined, perSecond: number, nowMs: number): Pace => ({
  level:
    pace === undefined ? perSecond : Math.min(perSecond, pace.level + (perSecond * (nowMs - pace.atMs)) / MS_PER_S),
  atMs: nowMs,
});
const MS_PER_S = 1_000;

/** Returns whole seconds after which it holds something again; null: it does now. */
export const emptyForS = ({ level }: Pace, perSecond: number): number | null => {
  if (level >= 1) return null;
  return perSecond === 0 ? NEVER_S : Math.max(1, Math.ceil((1 - level) / perSecond));
};
/** Nothing comes in by itself: the operator may change the quota meanwhile. */
const NEVER_S = 60;
