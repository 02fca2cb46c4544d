import type { WaitingTask } from '../../../workflows/planning/calls/plans';
import type { BatchState, FlushReason, TaskState } from '../../../workflows/planning/states';

/** The rows of a simulated store. Times are Unix milliseconds of its clock. */

export type Overrides = Partial<Record<'lingerMs' | 'quietPeriodMs' | 'maxItems' | 'minItems', number>>;

/**
 * A task, with the place where it is: in its target's queue, delayed, a member of a batch, or
 * ended.
 */
export interface TaskRow extends WaitingTask {
  id: string;
  /** Lower goes first. */
  priority: number;
  /** JSON text. */
  payload: string;
  target: TargetRow;
  createdAtMs: number;
  place: 'queue' | 'delayed' | 'held' | 'batch' | 'ended';
  /** Where it is delayed, or held. */
  notBeforeMs: number;
  /** Counted attempts before it joined its batch. */
  attempts: number;
  batch: BatchRow | null;
  /** State keys, of a task in a lane. */
  sets: { reads: readonly string[]; writes: readonly string[] } | null;
  end: { state: TaskState; attempts: number; error: string | null; atMs: number } | null;
}

export interface TargetRow {
  id: number;
  key: string;
  pausedFor: string | null;
  holdMs: number | null;
  flushSeq: number | null;
  overrides: Overrides | null;
  paces: number[];
  /** In claim order. */
  queue: TaskRow[];
  delayed: TaskRow[];
  /** Keys of `distinctBy`, with the seq of the task that holds each. */
  busyKeys: Map<string, number>;
  /** Batches that are open or parked. */
  batches: Set<BatchRow>;
  /** The lane that it feeds; null: none. */
  lane: LaneRow | null;
  /** The calls that back pressure has left, in a lane, and how often it took some. */
  allowed: number | null;
  reductions: number;
}

export interface BatchRow {
  id: number;
  target: TargetRow;
  members: readonly TaskRow[];
  /** How many members have left it. */
  left: number;
  state: BatchState;
  reason: FlushReason;
  attempt: number;
  counted: number;
  refusals: number;
  /** A call was marked, and its outcome is not written yet. */
  marked: boolean;
  /** A dispatch has it. */
  carried: boolean;
  retryAtMs: number | null;
  refused: boolean;
  unsure: boolean;
  depth: number;
  parentId: number | null;
  /** The batch under whose key the downstream may know it. */
  sentAs: number;
  weight: number;
  error: string | null;
  createdAtMs: number;
  startedAtMs: number | null;
  calledAtMs: number | null;
  /** Under what the downstream accepted it; null: it did not. */
  reference: string | null;
  /** When its status is asked for next; null: it is not. */
  pollAtMs: number | null;
  pollUntilMs: number | null;
  completion: unknown;
  /** Where it stands in its lane; null: in none. */
  inLane: LanePlace | null;
  /** Results by place, of the attempt that they belong to. */
  results: { readonly attempt: number; readonly values: Map<number, unknown> };
}

/** The handler's own row. */
export interface HandlerRow {
  name: string;
  pausedFor: string | null;
  holdMs: number | null;
  paces: number[];
  /** Its leader waits until then for a rate, or for weight in flight; null: it does not. */
  blockedUntilMs: number | null;
  /** As of a target. */
  allowed: number | null;
  reductions: number;
}

/** A task that has ended, and that others depended on then. */
export interface EndedRow {
  id: number;
  seq: number;
  /** A number of `TASK_STATES`. */
  state: number;
}

/** A lane, with numbers for names, as columns have them. */
export interface LaneRow {
  readonly id: number;
  readonly service: string;
  readonly kind: number;
  readonly approach: number;
  readonly onInvalid: number;
  readonly pendingLimit: number | null;
  /** The partition that it is in; null: any node serves it. */
  partition: string | null;
  weight: number;
  deficit: number;
  served: number;
  pending: number;
  saturated: boolean;
  holdMs: number | null;
  ready: boolean;
  dueAtMs: number | null;
  granted: number;
  /** The handler for whose limit it waits. */
  blockedBy: number | null;
  pausedFor: string | null;
  haltedBy: number | null;
  haltReason: string | null;
  /** Tasks in no batch, in order. */
  queue: TaskRow[];
  /** Batches that have not ended, in order. */
  open: BatchRow[];
}

/** Where a batch stands in its lane, or stood. */
export interface LanePlace {
  readonly lane: LaneRow;
  readonly seq: number;
  /** A number of `STATUSES`. */
  status: number;
  resolving: boolean;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** What it costs of its lane's share. */
  readonly weight: number;
  notBeforeMs: number | null;
  changedAtMs: number;
  lookUps: number;
  /** Deadlines that it has passed while it was pending. */
  overdue: number;
}

export interface Dependency {
  readonly batch: number;
  readonly needs: number;
  handed: boolean;
}
