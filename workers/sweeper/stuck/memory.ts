import type { Since } from '../stuckRun';
import type { TimedActivities } from './timedActivities';
import { NONE_TIMED } from './timedActivities';

/** What is remembered of a workflow between two looks. */
export interface Memory {
  runId: string | null;
  /** The failed run that was logged last. */
  loggedRunId: string | null;
  /** When the run was seen first. */
  since: number;
  lookedAt: number;
  /** When it is looked at before its time. */
  lookAt: number;
  /** When Temporal answered last. */
  seenAt: number;
  /** Its workflow task, with a worker or with none. */
  task: Since | null;
  /** Whether that task is for one worker, as its history has it; null: not asked yet. */
  oneWorker: { scheduledAt: number | null; is: boolean } | null;
  /** Its activities, if a sign of each is due. */
  quiet: Since | null;
  /** Its activities that the server is to end in time. */
  timed: TimedActivities;
  /** False: seen to be of the current version, or of none, or to have ended. */
  isOfOtherVersion: boolean;
  /** Its last run was told to end, and no wake has begun the next one for certain. */
  isUnwoken: boolean;
  restMs: number;
  restUntil: number;
  lastSilent: number;
}

/** Returns the memory of a workflow that is looked at for the first time. */
export const newMemory = (now: number): Memory => ({
  runId: null,
  loggedRunId: null,
  since: now,
  lookedAt: now,
  lookAt: now,
  seenAt: now,
  task: null,
  oneWorker: null,
  quiet: null,
  timed: NONE_TIMED,
  isOfOtherVersion: true,
  isUnwoken: false,
  restMs: 0,
  restUntil: 0,
  lastSilent: now,
});
