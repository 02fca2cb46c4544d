import type { PendingLimit } from './types';

/** Of the spec's table: at 30 pending a service waits, below 15 it goes on. */
export const PENDING_LIMIT: PendingLimit = { stopAt: 30, resumeBelow: 15 };

/**
 * Whether a lane is held back by what is pending of it: stops at `stopAt`, goes on below
 * `resumeBelow`, in between as it was.
 */
export const isSaturated = (pending: number, limit: PendingLimit | null, was: boolean): boolean => {
  if (limit === null) return false;
  if (pending >= limit.stopAt) return true;
  return pending < limit.resumeBelow ? false : was;
};

/** @throws Error for a limit that would never let a lane go on. */
export const checkPendingLimit = ({ stopAt, resumeBelow }: PendingLimit): void => {
  const whole = Number.isInteger(stopAt) && Number.isInteger(resumeBelow);
  if (!whole || resumeBelow < 1 || stopAt < resumeBelow)
    throw new Error(
      `pending limit: expected whole numbers with 1 <= resumeBelow <= stopAt, got stopAt ${stopAt}, resumeBelow ${resumeBelow}`,
    );
};
