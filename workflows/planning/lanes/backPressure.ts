import type { PendingLimit } from './types';

/**
 * Returns the pending limit of a lane, which stops at `stopAt` pending batches and continues below
 * half as many. Null: no limit.
 */
export const pendingLimitOf = (stopAt: number | null): PendingLimit | null =>
  stopAt === null ? null : { stopAt, resumeBelow: Math.ceil(stopAt / 2) };

/**
 * Says whether the number of a lane's pending batches holds the lane back: it stops at `stopAt`,
 * continues below `resumeBelow`, and in between stays as it `was`.
 */
export const isSaturated = (pending: number, limit: PendingLimit | null, was: boolean): boolean => {
  if (limit === null) return false;
  if (pending >= limit.stopAt) return true;
  return pending < limit.resumeBelow ? false : was;
};
