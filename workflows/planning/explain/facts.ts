import type { CancellationFacts } from '../calls/cancellation';
import type { TaskState } from '../states';

/** What `explain` decides from, and what it answers (G13). */

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
  /** Ready, in the queue. */
  queued: QueuedPart | null;
  /** Waits for its time: due in. */
  delayedInMs: number | null;
  batch: BatchPart | null;
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
  /** Null: nobody said when it is due. */
  dueInMs: number | null;
  /** Batches of it in the hands of submissions, and the weight of its open batches. */
  inFlight: number;
  weight: number;
  /** With the target's own overrides. */
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
  /** Since it was woken; null: it has taken a turn since. */
  unansweredMs: number | null;
  /** The run that took its last turn. */
  runId: string | null;
  /** Of one that stands still: its workflow, and what Temporal says of it. */
  workflowId?: string;
  run?: RunPart | null;
}
/** What runs in Temporal under a leader's or queuer's name; null: nobody could be asked. */
export interface RunPart {
  workflowId: string;
  /** Null: none is open. */
  runId: string | null;
  /** Of its pending workflow task: above 1 it has failed or timed out before. */
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
   * The node that marked the last call, and since when it gave no sign of life; null: it is not
   * known.
   */
  attemptBy: string | null;
  nodeSeenMs: number | null;
  /** A call was marked and is not concluded; until then nobody takes the next attempt. */
  attemptEndsInMs: number | null;
  retryInMs: number | null;
  reference: string | null;
  pollInMs: number | null;
  /** After this it is parked, however often it is asked about. */
  pollEndsInMs: number | null;
  refused: boolean;
  refusals: number;
  error: string | null;
  /** Where the handler threw it; null: it did not. */
  stack: string | null;
  /** The downstream was asked to stop it; null: it was not given up. */
  cancellation: CancellationFacts | null;
}

export interface Explanation {
  id: string;
  state: TaskState;
  /** One or two English sentences. */
  text: string;
  waitsFor: WaitsFor | null;
  /** Earliest, in milliseconds; 0: now; null: nobody can tell, or it is over. */
  nextStepInMs: number | null;
  /**
   * Only of a task that is not over and whose handler has affinity: who serves it, or why nobody
   * does.
   */
  servedBy?: ServedBy;
  facts: ExplainFacts;
}

/** What one of the deciding functions says. */
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
  /** Of the lease: the highest there was. */
  epoch: number;
  /** For how long it has held it. */
  sinceMs: number | null;
  /** Why no node serves it; null: one does. */
  why: 'revoked' | 'kept' | 'no node is able' | 'free' | null;
  /** One sentence. */
  text: string;
}
