import type { CancellationFacts } from '../calls/cancellation';
import type { Overrides } from '../limits/limits';
import type { SharedOverrides } from '../limits/sharing';
import type { TaskState } from '../states';

/** The facts from which `explain` decides, and its result. */

/** What a task can wait for. */
export const WAITS_FOR = [
  'linger',
  'quiet',
  'size',
  'delay',
  'pause',
  'hold',
  'leader',
  'slot',
  'key',
  'weight',
  'call',
  'retry',
  'poll',
  'resolve',
  'lane',
  /** Tasks that it depends on. */
  'dependency',
  /** A node that holds the task's partition, since its handler has affinity. */
  'partition',
] as const;
export type WaitsFor = (typeof WAITS_FOR)[number];

/**
 * Facts about one task. Times (`...InMs`) are milliseconds from now by the database's clock,
 * negative if past; other durations and ages are positive.
 */
export interface ExplainFacts {
  id: string;
  state: TaskState;
  attempts: number;
  error: string | null;
  handler: HandlerPart;
  target: TargetPart;
  leader: LeaderPart;
  /** Set while the task is held until other tasks have ended. */
  held: HeldPart | null;
  /** Set while the task is ready, in the queue of its target. */
  queued: QueuedPart | null;
  /** Milliseconds until a delayed task is due; null: it is not delayed. */
  delayedInMs: number | null;
  /** ISO time at which it fails if it still waits then; absent or null: never. */
  expiresAt?: string | null;
  batch: BatchPart | null;
  /** How late Temporal fires timers at most; absent or null: no worker has measured it. */
  timersLateMs?: number | null;
}
export interface HeldPart {
  /** The number of tasks that it depends on. */
  dependencies: number;
  /** How many of them have not ended, and the first few ids of those. */
  open: number;
  ids: string[];
}
interface HandlerPart {
  name: string;
  paused: boolean;
  pauseReason: string | null;
  holdInMs: number | null;
  perTarget: number;
  perHandler: number;
  /** How many of the `perHandler` calls are granted to leaders now. */
  slotsTaken: number;
  weightPerTarget: number | null;
  /** Name of the limit that it shares with other handlers; absent or null: none. */
  sharesLimit?: string | null;
  /** What was set in place of its definition. */
  sharedLimitSet?: SharedOverrides | null;
  /** Limits that were set at run time; absent or null: none was. */
  limitsSet?: Overrides | null;
  /** A live worker node has this handler. */
  served: boolean;
}
interface TargetPart {
  key: string;
  paused: boolean;
  pauseReason: string | null;
  busy: boolean;
  holdInMs: number | null;
  /** Null: the target has no due time. */
  dueInMs: number | null;
  /** How many of the target's batches dispatches carry, and the weight of its open batches. */
  inFlight: number;
  weight: number;
  /** Limits of the target itself that were set at run time; absent or null: none was. */
  limitsSet?: Overrides | null;
  /** These limits include the target's overrides. */
  maxItems: number;
  minItems: number;
  lingerMs: number;
  quietMs: number | null;
}
export interface LeaderPart {
  id: number;
  name: string;
  state: 'idle' | 'working' | 'waiting';
  wakeInMs: number | null;
  expiresInMs: number | null;
  blocked: boolean;
  /** What kept its last turn from taking due work; null: nothing. */
  heldBy: string | null;
  /**
   * Milliseconds since the wake that it has not answered; null: it has taken a turn since it was
   * woken.
   */
  unansweredMs: number | null;
  /** The run that took its last turn; null: it has never taken one. */
  runId: string | null;
  /** Only for a leader that has stalled: its workflow, and what Temporal says about it. */
  workflowId?: string;
  run?: RunPart | null;
}
/**
 * What runs in Temporal under the workflow id of a leader or queuer. Null in its place: Temporal
 * could not be asked.
 */
export interface RunPart {
  workflowId: string;
  /** The open run; null: none is open. */
  runId: string | null;
  /**
   * Attempt of its pending workflow task: above 1, that task has failed or timed out before. Null:
   * no task is pending.
   */
  attempt: number | null;
  /** Why its last workflow task failed. */
  lastFailure: string | null;
}

export interface QueuedPart {
  /** How many tasks are before this one, counted up to 10,000. */
  ahead: number;
  /**
   * How many tasks at the head of the queue may go, at most `maxItems`, and the ages of the oldest
   * and the newest of them.
   */
  waiting: number;
  oldestMs: number;
  newestMs: number;
  /** Those tasks fill a batch by bytes or weight. */
  full: boolean;
  /** A flush covers those tasks. */
  flushed: boolean;
  /**
   * The task's `distinctBy` key, and the live task, in a batch or before this one in the queue,
   * that has the same key. Null: none.
   */
  key: string | null;
  keyHolder: string | null;
  /**
   * A waiting task with the same `coalesceBy` key that was submitted later. Null or absent: none.
   */
  successor?: string | null;
}
export interface BatchPart {
  id: number;
  n: number;
  /** How many calls have been marked so far. */
  attempt: number;
  dispatched: boolean;
  /**
   * The node that marked the last call, and the milliseconds since its last heartbeat; null:
   * unknown.
   */
  attemptBy: string | null;
  nodeSeenMs: number | null;
  /**
   * Milliseconds until the deadline of a call that is marked and not concluded: no process makes
   * the next attempt before. Null: there is no such call.
   */
  attemptEndsInMs: number | null;
  retryInMs: number | null;
  reference: string | null;
  pollInMs: number | null;
  /** Milliseconds until the batch is parked, however often it is polled. */
  pollEndsInMs: number | null;
  /** Milliseconds since the read of its results last got on; absent or null: they are not read. */
  readAgoMs?: number | null;
  refused: boolean;
  refusals: number;
  error: string | null;
  /** The stack of the error, if the handler threw it; null: it did not. */
  stack: string | null;
  /** The cancellation sent to the downstream; null: the batch was not given up. */
  cancellation: CancellationFacts | null;
}

export interface Explanation {
  id: string;
  state: TaskState;
  /** One or two English sentences. */
  text: string;
  waitsFor: WaitsFor | null;
  /** Milliseconds until the earliest next step; 0: now; null: unknown, or the task has ended. */
  nextStepInMs: number | null;
  /**
   * Which node serves the task, or why none does. Only for an open task whose handler has affinity.
   */
  servedBy?: ServedBy;
  facts: ExplainFacts;
}

/** The result of one of the functions that explain a task. */
export interface Reason {
  waitsFor: WaitsFor | null;
  inMs: number | null;
  text: string;
}

/** Which node serves the partition of a task whose handler has affinity. */
export interface ServedBy {
  partition: string;
  /** Null: no node serves it now; `why` has the reason. */
  node: string | null;
  name: string | null;
  /** Epoch of the partition's latest lease. */
  epoch: number;
  /** How many milliseconds the node has held it; null: no node serves it. */
  sinceMs: number | null;
  /** Why no node serves it; null: one does. */
  why: 'revoked' | 'kept' | 'no node is able' | 'free' | null;
  /** One sentence. */
  text: string;
}
