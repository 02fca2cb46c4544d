import { optionalTsToMs } from '@temporalio/common/lib/time';
import type { DescribedActivity, DescribedTask } from '../temporal/openRun';
import { LONG_EVENTS, LONG_SILENT_MS } from './longRuns';

/** What the server and the store say about an open run that had something to do. */
export interface RunFacts {
  /**
   * Woken, or overdue, and silent since then; counted for this run: one that has just begun is not
   * silent yet.
   */
  silentMs: number;
  /** For how long its pending workflow task has been the same, in the same state: taken or not. */
  taskMs: number;
  /** How long a worker may have a workflow task; null: unknown. */
  taskTimeoutMs: number | null;
  /** Length of its history. */
  events: number;
  /** Pinned to a version that is not the current one. */
  isOfOtherVersion: boolean;
  /**
   * Its pending workflow task; null: it waits for something. `attempt`: 1 for one that has neither
   * failed nor timed out.
   */
  task: { isStarted: boolean; attempt: number } | null;
  /** Its pending workflow task lies in the queue of the one worker that has it in memory. */
  isOfOneWorker: boolean;
  /** The worker that has its pending workflow task gives no sign of life. */
  isHolderGone: boolean;
  /** Workers have, or had, all of its activities, and none of these gives a sign of life. */
  areWorkersGone: boolean;
  /** Its activities in flight, and how many of them no worker has ever started. */
  activities: number;
  untaken: number;
  /**
   * How long past its due time no sign of life has come from any of its activities, all of which
   * had begun before.
   */
  quietMs: number;
  /** The server has let one of its activities pass a time limit by `lostMs`. */
  hasForgotten: boolean;
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
   * What a dead worker had is with another one before: the server takes a task out of its queue
   * after 2 s, and repeats an activity. But its timers may be late: after kills under load some
   * fired after up to 150 s, others of the same second in time.
   */
  lostMs: number;
  /**
   * Time beyond its timeout after which a workflow task that a worker still has shows that the
   * server's timers are late.
   */
  overMs: number;
  /**
   * Silence, and time without progress of its workflow task, after which a run of a long history is
   * spared the replay. Leaders and queuers are ended by their turns (`isLongAndSilent`).
   */
  longSilentMs: number;
  longTaskMs: number;
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
  lostMs: 8_000,
  overMs: 1_000,
  longSilentMs: LONG_SILENT_MS,
  longTaskMs: 4_000,
  silentMs: 60_000,
  attempts: 5,
};

/** Attempts that a server gives the same time; it gives later ones more. */
const EQUAL_ATTEMPTS = 3;

/**
 * Says why a run will not make progress by itself; null: it may. A run whose workers are only slow,
 * and give signs of life, must stay: its task waits to be taken (no worker polls, nor would one for
 * the next run), or has timed out once. Only a long history is not worth the wait.
 */
export const whyStuck = (run: RunFacts, limits: StuckLimits): string | null => {
  const { task, silentMs, activities } = run;
  const isSilent = silentMs >= limits.silentMs;
  // Also with a workflow task: one that is signalled often has one at most looks.
  if (!run.takesTurns && run.areWorkersGone) return 'the workers of its activities give no sign of life';
  if (!run.takesTurns && run.quietMs >= limits.lostMs) return 'its activities give no sign of life';
  if (run.hasForgotten) return 'an activity whose time limit has passed is still open: the server has lost its timer';
  if (task === null) {
    if (!isSilent) return null;
    if (run.takesTurns || activities === 0) return 'it was woken and does nothing';
    return run.untaken === activities ? 'no worker takes up its activities' : null;
  }
  // A dispatch in flight ends by itself, and its run would abort it; but not without end.
  const untakenMs = task.isStarted ? 0 : run.taskMs;
  if (run.isOfOtherVersion && untakenMs >= limits.versionMs && (activities === 0 || isSilent))
    return 'no worker of its version takes it up';
  if (run.isOfOneWorker && !run.isOfOtherVersion && untakenMs >= limits.lostMs)
    return 'its task waits for a worker that is gone';
  // This aborts a dispatch of another worker: its calls end by themselves, it hands back the rest.
  if (run.isHolderGone && !(run.isOfOtherVersion && activities > 0))
    return 'the worker that has its workflow task gives no sign of life';
  if (task.isStarted && task.attempt <= EQUAL_ATTEMPTS && run.taskTimeoutMs !== null)
    if (run.taskMs >= run.taskTimeoutMs + limits.overMs)
      return 'a worker has had its workflow task for longer than its timeout';
  // With an activity that gives signs, what is overdue is only much.
  const doesNothing = activities === 0 || run.quietMs > 0;
  if (!run.takesTurns && run.events >= LONG_EVENTS && doesNothing)
    if (silentMs >= limits.longSilentMs && run.taskMs >= limits.longTaskMs)
      return 'its history is long, and its workflow task makes no progress';
  const times = task.attempt - 1;
  const failed = `its workflow task failed or timed out ${times === 1 ? 'once' : `${times} times`}`;
  if (task.attempt >= limits.attempts) return failed;
  if (!isSilent) return null;
  if (task.attempt >= Math.min(3, limits.attempts)) return failed;
  return task.isStarted && silentMs >= 2 * limits.silentMs ? 'its turn does not end' : null;
};

/** `temporal.api.enums.v1`: PENDING_ACTIVITY_STATE_SCHEDULED, _STARTED, _CANCEL_REQUESTED. */
const SCHEDULED = 1;
const WITH_WORKER: readonly unknown[] = [2, 3];

/**
 * Returns the identities of the workers that have the activities, or had them until their attempts
 * ended; null: there are none, or no worker has taken one up yet. If they are gone, a server that
 * has lost the timer of an attempt's end may have lost that of the next one, too: to wait for it
 * cost 12 s after a kill of all.
 */
export const workersOf = (activities: readonly DescribedActivity[]): string[] | null => {
  const workers = activities.map((activity) =>
    WITH_WORKER.includes(activity.state) || (isAgain(activity) && activity.paused !== true)
      ? (activity.lastWorkerIdentity ?? null)
      : null,
  );
  return workers.length === 0 || workers.includes(null) ? null : [...new Set(workers as string[])];
};

/** Names a task, and whether a worker has it; null: there is none, or the server tells no times. */
export const nameOf = (task: DescribedTask | null): string | null => {
  if (task === null) return null;
  const at = task.isStarted ? task.startedAt : task.scheduledAt;
  return at === null ? null : `${task.isStarted ? 'taken' : 'waits'} ${task.attempt} ${at}`;
};

/** Time in which a worker takes up an activity that is due, if it is not busy. */
const TAKEN_UP_MS = 4_000;

/** Says whether no worker has taken up this attempt. */
export const isWaiting = ({ state }: DescribedActivity): boolean => state === SCHEDULED;
/** Says whether an earlier attempt has begun. */
export const isAgain = ({ attempt }: DescribedActivity): boolean => (attempt ?? 1) > 1;

/** Activities of which the next sign is due. */
export interface Quiet {
  /** Which, and their last signs. */
  what: string;
  /** How long they may be quiet. */
  forMs: number;
}

/**
 * Returns the activities, if a sign of each is due: it has a worker that gives heartbeats, or may
 * be taken up again. Null: one waits for its first worker, or is paused, or is not due yet, or
 * gives no heartbeats; or there are none.
 */
export const quietOf = (activities: readonly DescribedActivity[]): Quiet | null => {
  const signs = activities.map(signOf);
  if (signs.length === 0 || !signs.every((sign) => sign !== null)) return null;
  return {
    what: signs
      .map(({ what }) => what)
      .sort()
      .join(),
    forMs: Math.max(...signs.map(({ forMs }) => forMs)),
  };
};

/** Returns its last sign, and how long after that the next one is due; null: at no certain time. */
export const signOf = (activity: DescribedActivity): Quiet | null => {
  const { activityId, attempt, paused, lastStartedTime, lastHeartbeatTime } = activity;
  if (paused === true) return null;
  if (isWaiting(activity) && isAgain(activity))
    return activity.nextAttemptScheduleTime == null ? { what: `${activityId} ${attempt}`, forMs: TAKEN_UP_MS } : null;
  const sign = optionalTsToMs(lastHeartbeatTime) ?? optionalTsToMs(lastStartedTime);
  const forMs = optionalTsToMs(activity.activityOptions?.heartbeatTimeout) ?? 0;
  if (!WITH_WORKER.includes(activity.state) || sign === undefined || forMs === 0) return null;
  return { what: `${activityId} ${attempt} ${sign}`, forMs };
};

/** How long a workflow that was begun anew is left alone at first. */
export const FIRST_REST_MS = 30_000;
/** The same if its worker was gone: the next run has another one, which may be killed, too. */
export const REST_AFTER_GONE_MS = 5_000;
const LONGEST_REST_MS = 1_800_000;

/**
 * Returns how long a workflow that was begun anew is left alone: twice as long as the last time, or
 * `firstMs` if that was the first time, or if it went on for long after its last rest.
 */
export const nextRestMs = (lastMs: number, sinceLastMs: number, firstMs = FIRST_REST_MS): number =>
  lastMs === 0 || sinceLastMs > 2 * lastMs ? firstMs : Math.min(LONGEST_REST_MS, Math.max(firstMs, 2 * lastMs));

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

/**
 * Orders runs by how much waits for them: one queuer holds up every lane, one leader only its
 * targets. After an outage some hundred leaders are silent, and a look at all of them takes long.
 */
export const mostHeldUpFirst = <T extends { type: string }>(runs: readonly T[]): T[] => [
  ...runs.filter(({ type }) => type !== 'leader'),
  ...runs.filter(({ type }) => type === 'leader'),
];
