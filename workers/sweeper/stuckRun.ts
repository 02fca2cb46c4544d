import type { Timestamp } from '@temporalio/common/lib/time';
import { optionalTsToMs } from '@temporalio/common/lib/time';

/** What the server and the store say about an open run that had something to do. */
export interface RunFacts {
  /**
   * Woken, or overdue, and silent since then; counted for this run: one that has just begun is not
   * silent yet.
   */
  silentMs: number;
  /** How long no worker has taken its pending workflow task. */
  untakenMs: number;
  /** Pinned to a version that is not the current one. */
  isOfOtherVersion: boolean;
  /**
   * Its pending workflow task; null: it waits for something. `attempt`: 1 for one that has neither
   * failed nor timed out.
   */
  task: { isStarted: boolean; attempt: number } | null;
  /** Its pending workflow task lies in the queue of the one worker that has it in memory. */
  isOfOneWorker: boolean;
  /** Its activities in flight, and how many of them no worker has ever started. */
  activities: number;
  untaken: number;
  /** How long no worker has taken up any of its activities again, all of which had begun before. */
  againMs: number;
  /**
   * It answers a wake with a turn whatever its activities do (leader, queuer); others wait for
   * theirs.
   */
  takesTurns: boolean;
}

export interface StuckLimits {
  /**
   * A run of a living version takes its task long before: a dead worker's sticky queue costs 2 s.
   */
  versionMs: number;
  /**
   * What a dead worker had is with another one long before: the server takes a task out of its
   * queue after 2 s, and repeats an activity. But a server that is short of something puts its own
   * timers off, by up to five minutes.
   */
  lostMs: number;
  /** Time within which a run must give a sign of life. */
  silentMs: number;
  /**
   * A workflow task that failed or timed out so often: its history does not replay, or is too long
   * for the time. One less is bad luck.
   */
  attempts: number;
}

export const STUCK_LIMITS: StuckLimits = {
  versionMs: 4_000,
  lostMs: 12_000,
  silentMs: 60_000,
  attempts: 5,
};

/**
 * Says why a run will not make progress by itself; null: it may. A run whose workers are only slow
 * must stay: its task waits to be taken (no worker polls, nor would one for the next run), or has
 * timed out once.
 */
export const whyStuck = (run: RunFacts, limits: StuckLimits): string | null => {
  const { task, silentMs, activities } = run;
  const isSilent = silentMs >= limits.silentMs;
  if (task === null) {
    if (!run.takesTurns && run.againMs >= limits.lostMs) return 'no worker takes up its activities again';
    if (!isSilent) return null;
    if (run.takesTurns || activities === 0) return 'it was woken and does nothing';
    return run.untaken === activities ? 'no worker takes up its activities' : null;
  }
  // A dispatch in flight ends by itself, and its run would abort it; but not without end.
  if (run.isOfOtherVersion && run.untakenMs >= limits.versionMs && (activities === 0 || isSilent))
    return 'no worker of its version takes it up';
  if (run.isOfOneWorker && !run.isOfOtherVersion && !task.isStarted && run.untakenMs >= limits.lostMs)
    return 'its task waits for a worker that is gone';
  const times = task.attempt - 1;
  const failed = `its workflow task failed or timed out ${times === 1 ? 'once' : `${times} times`}`;
  if (task.attempt >= limits.attempts) return failed;
  if (!isSilent) return null;
  if (task.attempt >= Math.min(3, limits.attempts)) return failed;
  return task.isStarted && silentMs >= 2 * limits.silentMs ? 'its turn does not end' : null;
};

/** `temporal.api.enums.v1.PENDING_ACTIVITY_STATE_SCHEDULED`. */
const SCHEDULED = 1;

/** An activity in flight, as a server describes it. */
interface PendingActivity {
  activityId?: string | null;
  state?: number | null;
  attempt?: number | null;
  /** How long the server waits before this attempt. */
  currentRetryInterval?: Timestamp | null;
}

/** Says whether no worker has taken up this attempt. */
export const isWaiting = ({ state }: PendingActivity): boolean => state === SCHEDULED;
/** Says whether an earlier attempt has begun. */
export const isAgain = ({ attempt }: PendingActivity): boolean => (attempt ?? 1) > 1;

/** Activities that wait to be taken up again. */
export interface Again {
  /** Which, at which attempt. */
  what: string;
  /** Of that the longest wait before a worker may take one up. */
  backoffMs: number;
}

/** Returns the activities, if all of them wait to be taken up again; null: not all, or none. */
export const againOf = (pending: readonly PendingActivity[]): Again | null =>
  pending.length > 0 && pending.every((activity) => isWaiting(activity) && isAgain(activity))
    ? {
        what: pending
          .map(({ activityId, attempt }) => `${activityId} ${attempt}`)
          .sort()
          .join(),
        backoffMs: Math.max(...pending.map((activity) => optionalTsToMs(activity.currentRetryInterval) ?? 0)),
      }
    : null;

/** What was seen at looks, and since when it is the same. */
export interface Since {
  what: string;
  since: number;
}

/** Returns since when `what` is the same, by what was remembered of it; null: there is none. */
export const sinceSeen = (before: Since | null, what: string | null, now: number): Since | null => {
  if (what === null) return null;
  return before?.what === what ? before : { what, since: now };
};
