import type { WaitingTask } from '../../../workflows/planning/calls/plans';
import type { Need } from '../../../workflows/planning/grouping/dependents';
import type { BatchState, FlushReason, TaskState } from '../../../workflows/planning/states';
import { TASK_STATES } from '../../../workflows/planning/states';

/** The rows of a simulated store. Times are Unix milliseconds of its clock. */

export type Overrides = Partial<Record<'lingerMs' | 'quietPeriodMs' | 'maxItems' | 'minItems', number>>;

/**
 * A task, with the place where it is: in its target's queue, delayed, a member of a batch, or
 * ended.
 */
export interface TaskRow extends WaitingTask {
  id: string;
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
}

/** A task that has ended, and that others depended on then. */
export interface EndedRow {
  id: number;
  seq: number;
  /** A number of `TASK_STATES`. */
  state: number;
}

/** No attempt has the number 0: results replace it. */
const NO_RESULTS: BatchRow['results'] = { attempt: 0, values: new Map() };

/** A store in memory, of one handler. */
export class Tables {
  readonly handler: HandlerRow;
  readonly targets = new Map<string, TargetRow>();
  readonly tasks = new Map<string, TaskRow>();
  readonly bySeq = new Map<number, TaskRow>();
  readonly batches = new Map<number, BatchRow>();
  /** What tasks depend on. */
  readonly needs: Need[] = [];
  /** Ends that dependents wait for to be worked off. */
  ended: EndedRow[] = [];
  private readonly byId: TargetRow[] = [];
  private seq = 0;
  private endedNo = 0;

  constructor(
    handler: string,
    public nowMs: number,
  ) {
    this.handler = { name: handler, pausedFor: null, holdMs: null, paces: [], blockedUntilMs: null };
  }

  target(key: string): TargetRow {
    let target = this.targets.get(key);
    if (target === undefined) {
      const lists = { queue: [], delayed: [], busyKeys: new Map<string, number>(), batches: new Set<BatchRow>() };
      const free = { pausedFor: null, holdMs: null, flushSeq: null, overrides: null, paces: [] };
      target = { id: this.targets.size + 1, key, ...free, ...lists };
      this.targets.set(key, target);
      this.byId.push(target);
    }
    return target;
  }

  targetOf(id: number): TargetRow {
    return this.byId[id - 1]!;
  }

  nextSeq(): number {
    return ++this.seq;
  }

  batch(id: number): BatchRow {
    return this.batches.get(id)!;
  }

  /** Adds a batch of these tasks, which must have left where they were. */
  addBatch(
    target: TargetRow,
    members: readonly TaskRow[],
    rest: Partial<BatchRow> & Pick<BatchRow, 'reason' | 'weight'>,
  ): BatchRow {
    const id = this.batches.size + 1;
    const row: BatchRow = {
      id,
      target,
      members: rest.members ?? members,
      left: 0,
      state: rest.state ?? 'open',
      reason: rest.reason,
      attempt: rest.attempt ?? 0,
      counted: 0,
      refusals: 0,
      marked: rest.marked ?? false,
      carried: false,
      retryAtMs: rest.retryAtMs ?? null,
      refused: false,
      unsure: false,
      depth: rest.depth ?? 0,
      parentId: rest.parentId ?? null,
      sentAs: rest.sentAs ?? id,
      weight: rest.weight,
      error: rest.error ?? null,
      createdAtMs: this.nowMs,
      startedAtMs: rest.startedAtMs ?? null,
      calledAtMs: rest.calledAtMs ?? null,
      reference: null,
      pollAtMs: null,
      pollUntilMs: null,
      completion: null,
      results: NO_RESULTS,
    };
    for (const task of members) {
      task.place = 'batch';
      task.batch = row;
    }
    this.batches.set(id, row);
    target.batches.add(row);
    return row;
  }

  /** Puts a task into its target's queue, at its place in the claim order. */
  enqueue(task: TaskRow, readyAtMs: number): void {
    task.place = 'queue';
    task.batch = null;
    task.readyAtMs = readyAtMs;
    const { queue } = task.target;
    let at = queue.length;
    while (at > 0 && comesBefore(task, queue[at - 1]!)) at--;
    queue.splice(at, 0, task);
  }

  delay(task: TaskRow, notBeforeMs: number): void {
    task.place = 'delayed';
    task.batch = null;
    task.notBeforeMs = notBeforeMs;
    task.target.delayed.push(task);
  }

  end(task: TaskRow, state: TaskState, attempts: number, error: string | null): void {
    task.place = 'ended';
    task.end = { state, attempts, error, atMs: this.nowMs };
    this.freeKey(task);
    this.noteEnded(task);
  }

  /** Keeps the end of a task for those that depend on it, if there are any. */
  noteEnded({ seq, end }: TaskRow): void {
    if (end === null || !this.needs.some(({ needs, state }) => needs === seq && state === null)) return;
    this.ended.push({ id: ++this.endedNo, seq, state: TASK_STATES[end.state] });
  }

  freeKey({ key, seq, target }: TaskRow): void {
    if (key !== null && target.busyKeys.get(key) === seq) target.busyKeys.delete(key);
  }
}

const comesBefore = (one: TaskRow, other: TaskRow): boolean =>
  one.priority < other.priority || (one.priority === other.priority && one.seq < other.seq);

/** Returns the members that are still in their batch. */
export const membersIn = (batch: BatchRow): TaskRow[] =>
  batch.members.filter((task) => task.place === 'batch' && task.batch === batch);
