import type { CancellationFacts } from '../calls/cancellation';
import type { TaskState } from '../states';

/** What `explain` decides from, and what it returns. */

/** What a task that does not move waits for. */
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
  /** A node that holds its partition: its handler has affinity. */
  'partition',
] as const;
export type WaitsFor = (typeof WAITS_FOR)[number];

/**
 * All times are milliseconds from now by the database's clock, negative: past; ages are positive.
 */
export interface ExplainFacts {
  id: string;
  state: TaskState;
  attempts: number;
  error: string | null;
  handler: HandlerPart;
  target: TargetPart;
  leader: LeaderPart;
  /** Held until others have ended. */
  held: HeldPart | null;
  /** Ready, in the queue. */
  queued: QueuedPart | null;
  /** Ms until a delayed task is due; null: it is not delayed. */
  delayedInMs: number | null;
  batch: BatchPart | null;
}
export interface HeldPart {
  /** Tasks that it depends on. */
  dependencies: number;
  /** How many of them have not ended, and the first ids of those. */
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
  /** Calls that leaders may have in flight now, of `perHandler`. */
  slotsTaken: number;
  weightPerTarget: number | null;
  /** A live worker node has this handler. */
  served: boolean;
}
interface TargetPart {
  key: string;
  paused: boolean;
  pauseReason: string | null;
  busy: boolean;
  holdInMs: number | null;
  /** Null: it has no due time. */
  dueInMs: number | null;
  /** Batches of the target that dispatches carry, and the weight of its open batches. */
  inFlight: number;
  weight: number;
  /** Including the target's own overrides. */
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
  /** Why its last turn left due work alone. */
  heldBy: string | null;
  /** Time since it was woken; null: it has taken a turn since. */
  unansweredMs: number | null;
  /** The run that took its last turn. */
  runId: string | null;
  /** Workflow of a leader that has stalled, and what Temporal says about it. */
  workflowId?: string;
  run?: RunPart | null;
}
/** What runs in Temporal under a leader's or queuer's name; null: Temporal could not be asked. */
export interface RunPart {
  workflowId: string;
  /** Null: none is open. */
  runId: string | null;
  /** Attempt of its pending workflow task: above 1 it has failed or timed out before. */
  attempt: number | null;
  /** Why its last workflow task failed. */
  lastFailure: string | null;
}

export interface QueuedPart {
  /** Tasks before this one, counted up to 10,000. */
  ahead: number;
  /**
   * Tasks at the head that may go, at most `maxItems`; ages of the oldest and the newest of them.
   */
  waiting: number;
  oldestMs: number;
  newestMs: number;
  /** They fill a batch by bytes or weight. */
  full: boolean;
  /** A flush covers them. */
  flushed: boolean;
  /** distinctBy: a live task that has the same key, or one before it in the queue. */
  key: string | null;
  keyHolder: string | null;
}
export interface BatchPart {
  id: number;
  n: number;
  /** Calls marked so far. */
  attempt: number;
  dispatched: boolean;
  /**
   * The node that marked the last call, and since when it has given no sign of life; null: unknown.
   */
  attemptBy: string | null;
  nodeSeenMs: number | null;
  /** A call was marked and is not concluded; until then no process takes the next attempt. */
  attemptEndsInMs: number | null;
  retryInMs: number | null;
  reference: string | null;
  pollInMs: number | null;
  /** After this it is parked, however often it is polled. */
  pollEndsInMs: number | null;
  refused: boolean;
  refusals: number;
  error: string | null;
  /** Where the handler threw it; null: it did not. */
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
  /** Earliest, in milliseconds; 0: now; null: unknown, or the task has ended. */
  nextStepInMs: number | null;
  /** Only for an open task whose handler has affinity: which node serves it, or why none does. */
  servedBy?: ServedBy;
  facts: ExplainFacts;
}

/** The answer of one of the deciding functions. */
export interface Reason {
  waitsFor: WaitsFor | null;
  inMs: number | null;
  text: string;
}

/** Which node serves the partition of a task whose handler has affinity. */
export interface ServedBy {
  partition: string;
  /** Null: none does now, see `why`. */
  node: string | null;
  name: string | null;
  /** Epoch of the lease: the highest there was. */
  epoch: number;
  /** For how long the node has held it. */
  sinceMs: number | null;
  /** Why no node serves it; null: one does. */
  why: 'revoked' | 'kept' | 'no node is able' | 'free' | null;
  /** One sentence. */
  text: string;
}
