import type { PendingLimit } from './types';

/**
 * A lane with a limit of `stopAt` goes on below half of it: 30 and 15 in the spec's table. Null: no
 * limit.
 */
export const pendingLimitOf = (stopAt: number | null): PendingLimit | null =>
  stopAt === null ? null : { stopAt, resumeBelow: Math.ceil(stopAt / 2) };

/**
 * Whether a lane is held back by what is pending of it: stops at `stopAt`, goes on below
 * `resumeBelow`, in between as it was.
 */
export const isSaturated = (pending: number, limit: PendingLimit | null, was: boolean): boolean => {
  if (limit === null) return false;
  if (pending >= limit.stopAt) return true;
  return pending < limit.resumeBelow ? false : was;
};
