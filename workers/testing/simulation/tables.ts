import type { Handler } from '../../../handlers/types';
import type { Need } from '../../../workflows/planning/grouping/dependents';
import type { TaskState } from '../../../workflows/planning/states';
import { TASK_STATES } from '../../../workflows/planning/states';
import { LaneTables } from './lanes/laneTables';
import type { Serving } from './nodes/nodeTables';
import { NodeTables } from './nodes/nodeTables';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import type { BatchRow, EndedRow, HandlerRow, TargetRow, TaskRow } from './rows';

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
  readonly lanes: LaneTables;
  readonly nodes: NodeTables;
  /** Takes back what the open transaction has inserted, in reverse. */
  undo: (() => void)[] = [];
  private readonly byId: TargetRow[] = [];
  private seq = 0;
  private calls = 0;
  private endedNo = 0;

  constructor(
    { name, lane, affinity }: Pick<Handler, 'name' | 'lane' | 'affinity'>,
    public nowMs: number,
  ) {
    this.nodes = new NodeTables({ name, affinity }, nowMs, DEFAULT_NODE_SETTINGS.leaseMs);
    const free = { pausedFor: null, holdMs: null, paces: [], blockedUntilMs: null };
    this.handler = { name, ...free, allowed: null, reductions: 0 };
    this.lanes = new LaneTables(lane);
  }

  target(key: string): TargetRow {
    let target = this.targets.get(key);
    if (target === undefined) {
      target = {
        id: this.targets.size + 1,
        key,
        pausedFor: null,
        holdMs: null,
        flushSeq: null,
        overrides: null,
        paces: [],
        lane: null,
        allowed: null,
        reductions: 0,
        queue: [],
        delayed: [],
        busyKeys: new Map(),
        batches: new Set(),
      };
      this.targets.set(key, target);
      this.byId.push(target);
    }
    return target;
  }

  targetOf(id: number): TargetRow {
    return this.byId[id - 1]!;
  }

  /**
   * Returns who may call the batches of a target, or of a service: `any` node, where the handler
   * has no affinity; null: no node does now.
   */
  servingOf(key: string): Serving | 'any' | null {
    return this.nodes.isOff ? 'any' : this.nodes.servingOf(this.nodes.partitionOf(key), this.nowMs);
  }

  nextSeq(): number {
    return ++this.seq;
  }

  /** Returns the number of a call that submits into lanes. */
  nextCall(): number {
    return ++this.calls;
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
      inLane: null,
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
