import { optionalTsToMs } from '@temporalio/common/lib/time';
import type { DescribedActivity } from '../../temporal/openRun';
import { isAgain, isWaiting, signOf } from '../stuckRun';

/**
 * Activities of a run whose next sign is due within a time that the server keeps, each since when
 * its last sign was seen here. A server that has lost the timer never ends one, and the run waits
 * for it: some did so for eight minutes after a kill, until they were terminated.
 */
export type TimedActivities = ReadonlyMap<string, { since: number; forMs: number }>;

export const NONE_TIMED: TimedActivities = new Map();

/** Returns what is timed now. `before`: what was at the look before, by the same clock. */
export const timedNow = (
  before: TimedActivities,
  activities: readonly DescribedActivity[],
  now: number,
): TimedActivities =>
  new Map(
    activities.flatMap((activity) => {
      const timed = timeLimitOf(activity);
      if (timed === null) return [];
      return [[timed.what, { since: before.get(timed.what)?.since ?? now, forMs: timed.forMs }] as const];
    }),
  );

const timeLimitOf = (activity: DescribedActivity): { what: string; forMs: number } | null => {
  const isUntaken = isWaiting(activity) && !isAgain(activity) && activity.paused !== true;
  if (!isUntaken) return isWaiting(activity) ? null : signOf(activity);
  const forMs = optionalTsToMs(activity.activityOptions?.scheduleToStartTimeout) ?? 0;
  return forMs === 0 ? null : { what: `${activity.activityId} untaken`, forMs };
};

/** Returns when the first of them is past its time by so much; Infinity: none is timed. */
export const firstOverstays = (timed: TimedActivities, byMs: number): number =>
  Math.min(Infinity, ...[...timed.values()].map(({ since, forMs }) => since + forMs + byMs));
