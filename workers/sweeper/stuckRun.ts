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
  /** Its activities in flight, and how many of them no worker has ever started. */
  activities: number;
  untaken: number;
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
  /** Time within which a run must give a sign of life. */
  silentMs: number;
  /**
   * A workflow task that failed or timed out so often: its history does not replay, or is too long
   * for the time. One less is bad luck.
   */
  attempts: number;
}

export const STUCK_LIMITS: StuckLimits = { versionMs: 4_000, silentMs: 60_000, attempts: 5 };

/**
 * Says why a run will not make progress by itself; null: it may. A run whose workers are only slow
 * must stay: its task waits to be taken (no worker polls, nor would one for the next run), or has
 * timed out once.
 */
export const whyStuck = (run: RunFacts, limits: StuckLimits): string | null => {
  const { task, silentMs, activities } = run;
  const isSilent = silentMs >= limits.silentMs;
  if (task === null) {
    if (!isSilent) return null;
    if (run.takesTurns || activities === 0) return 'it was woken and does nothing';
    return run.untaken === activities ? 'no worker takes up its activities' : null;
  }
  // A dispatch in flight ends by itself, and its run would abort it; but not without end.
  if (run.isOfOtherVersion && run.untakenMs >= limits.versionMs && (activities === 0 || isSilent))
    return 'no worker of its version takes it up';
  const times = task.attempt - 1;
  const failed = `its workflow task failed or timed out ${times === 1 ? 'once' : `${times} times`}`;
  if (task.attempt >= limits.attempts) return failed;
  if (!isSilent) return null;
  if (task.attempt >= Math.min(3, limits.attempts)) return failed;
  return task.isStarted && silentMs >= 2 * limits.silentMs ? 'its turn does not end' : null;
};
