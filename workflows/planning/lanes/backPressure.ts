import type { PendingLimit } from './types';

/**
 * Returns the pending limit of a lane: it stops at `stopAt`, and goes on below half of it. Null: no
 * limit.
 */
export const pendingLimitOf = (stopAt: number | null): PendingLimit | null =>
  stopAt === null ? null : { stopAt, resumeBelow: Math.ceil(stopAt / 2) };

/**
 * Says whether a lane's pending batches hold it back: it stops at `stopAt`, goes on below
 * `resumeBelow`, and in between stays as it was.
 */
export const isSaturated = (pending: number, limit: PendingLimit | null, was: boolean): boolean => {
  if (limit === null) return false;
  if (pending >= limit.stopAt) return true;
  return pending < limit.resumeBelow ? false : was;
};
