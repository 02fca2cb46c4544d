import type { Duration } from '@temporalio/common';
import type { CompletionReport, CompletionWhat } from '../../../activities/accepted/completion';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import type { CancelledBatch } from '../../../client/lanes/cancelBatch';
import type { BatchInput } from '../../../client/lanes/checkBatch';
import type { CompletionAnswer } from '../../../client/operations/complete';
import { completionError } from '../../../client/operations/complete';
import type { TaskInput } from '../../../client/tasks/checkTasks';
import { SILENT_LOG } from '../../../handlers/logging/boundLog';
import type { CallLog } from '../../../handlers/contract';
import type { Handler } from '../../../handlers/types';
import type { Pool } from '../../../postgres/pool';
import { durationMs } from '../duration';
import { Caller } from './caller';
import { Claims } from './claim';
import { cancelInLane } from './lanes/cancelInLane';
import type { SimulatedSubmit } from './lanes/laneSubmission';
import { LaneSubmission } from './lanes/laneSubmission';
import { LaneWork } from './lanes/laneWork';
import { simulatedHomes } from './homes';
import { flushLanes } from './lanes/queueStatements';
import { SimulatedLanes } from './lanes/simulatedLanes';
import { memoryPool } from './memoryPool';
import { Monitor } from './monitor';
import { Balancer } from './nodes/balancer';
import { newNode } from './nodes/nodeTables';
import { SimulatedNodes } from './nodes/simulatedNodes';
import { QueueWork } from './queueWork';
import { Submission } from './submission';
import { Tables } from './tables';
import type { SimulatedBatch, SimulatedCall, SimulatedTask } from './views';
import { batchView, partitionView, taskView } from './views';
import type { Work } from './work';
import type { HandlerRow, Overrides, TargetRow } from './rows';

/** Options of `simulate`. */
export interface SimulateOptions {
  /** When the world begins: Unix milliseconds. Default: 2026-01-01T00:00:00Z. */
  startMs?: number;
  /**
   * The nodes over which partitions are spread, where the handler has affinity: ids of nodes with
   * the attributes that it asks for. Default: one, `node-1`. Others join by `world.nodes.join`.
   */
  nodes?: readonly string[];
  /** Of the jitter after back pressure without `retryAfterMs`. Default 1. */
  seed?: number;
  /** What the handler logs by `context.log` goes there, such as to `console`. Default: nowhere. */
  log?: CallLog;
}

/** Turns at one instant after which a simulation is at fault: each forms batches, or calls some. */
const MOST_TURNS = 100_000;

/**
 * A handler's tasks in a world whose time a test moves. Between two instants at which something is
 * due, nothing happens.
 */
export class World<P = unknown, I = P> {
  /** Calls of the handler's `submit`, in order. */
  readonly calls: SimulatedCall<P>[] = [];
  private readonly tables: Tables;
  /** Its lanes, and the verbs of `muster.lanes`. */
  readonly lanes: SimulatedLanes;
  /** Its nodes, where the handler has affinity. */
  readonly nodes: SimulatedNodes;
  private readonly pool: Pool;
  private readonly balancer: Balancer;
  private readonly work: Work;
  private readonly monitor: Monitor;
  private readonly submission: Submission;
  private readonly laneSubmission: LaneSubmission;
  private running: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(
    private readonly handler: Handler<P, I>,
    { startMs = Date.UTC(2026, 0, 1), seed = 1, nodes = ['node-1'], log = SILENT_LOG }: SimulateOptions,
  ) {
    this.startMs = startMs;
    this.tables = new Tables(handler, startMs);
    const pool = memoryPool(this.tables, handler);
    this.balancer = new Balancer(this.tables, pool, DEFAULT_NODE_SETTINGS);
    const random = uniform(seed);
    const homes = simulatedHomes(pool, random);
    this.pool = pool;
    this.submission = new Submission(this.tables, handler, pool);
    this.laneSubmission = new LaneSubmission(this.tables, handler, pool);
    this.monitor = new Monitor(this.tables, handler, pool, homes, log);
    const home = handler.ordered ? homes.lane : homes.queue;
    const caller = new Caller(this.tables, handler, pool, home, log, (batch, members, outcome, serving) => {
      const tasks = members.map(({ id, payload, attempts }) => ({ id, payload: JSON.parse(payload) as P, attempts }));
      const { attempt, reason, target, inLane } = batch;
      const at = { atMs: this.tables.nowMs - startMs, target: target.key, service: inLane?.lane.service ?? null };
      const by = { node: serving?.node ?? null, partition: partitionView(serving) };
      this.calls.push({ ...at, ...by, batch: batch.id, attempt, reason, tasks, outcome: outcome.kind });
    });
    this.work = handler.ordered
      ? new LaneWork(this.tables, pool, caller)
      : new QueueWork(this.tables, pool, new Claims(this.tables, handler), caller);
    const change = <T>(work: () => Promise<T>): Promise<T> => this.changed(work);
    this.lanes = new SimulatedLanes(this.tables, handler, pool, this.laneSubmission, change);
    this.nodes = new SimulatedNodes(this.tables, this.balancer, change);
    for (const id of handler.affinity === null ? [] : nodes)
      this.tables.nodes.nodes.set(id, newNode(id, handler.affinity!.attributes, startMs));
  }
  private readonly startMs: number;

  /** Returns the world's time as Unix milliseconds, for `notBefore`. */
  now(): number {
    return this.tables.nowMs;
  }

  /** Returns the batches that were formed, in order; those of bisects and splits, too. */
  get batches(): SimulatedBatch[] {
    return [...this.tables.batches.values()].map((batch) => batchView(batch, this.startMs));
  }

  /** Returns a task as it is now; null: there is none of this id. */
  task(id: string): SimulatedTask | null {
    const task = this.tables.tasks.get(id);
    return task === undefined ? null : taskView(task, this.startMs);
  }

  /** Returns all tasks as they are now, in the order of their submission. */
  get tasks(): SimulatedTask[] {
    return [...this.tables.tasks.values()].map((task) => taskView(task, this.startMs));
  }

  /**
   * Submits tasks: one, or some that are accepted together. Resolves when what is due then (a batch
   * that they filled) has been called. Throws an `InvalidTaskError` as the client does.
   */
  submit(tasks: TaskInput<I> | readonly TaskInput<I>[]): Promise<void> {
    const all = Array.isArray(tasks) ? (tasks as readonly TaskInput<I>[]) : [tasks as TaskInput<I>];
    return this.changed(() => (this.handler.ordered ? this.laneSubmission : this.submission).accept(all));
  }

  /**
   * Submits one batch to a lane, which is sent as it is, as `batches.submit` of the client does,
   * and throws what that throws. Resolves when what it made due has been called.
   */
  async submitBatch(
    service: string,
    items: readonly TaskInput<I>[],
    options: Omit<BatchInput, 'service' | 'items'> = {},
  ): Promise<SimulatedSubmit> {
    const [submitted] = await this.submitBatches([{ ...options, service, items }]);
    return submitted!;
  }

  /** Submits batches to lanes, in this order: all are accepted, or none. */
  submitBatches(batches: readonly BatchInput<I>[]): Promise<SimulatedSubmit[]> {
    return this.changed(() => this.laneSubmission.acceptBatches(batches));
  }

  /** Cancels a lane batch that has not reached the downstream, as `batches.cancel` does. */
  cancelBatch(batch: number): Promise<CancelledBatch> {
    return this.changed(() => cancelInLane(this.pool, batch));
  }

  /**
   * Reports from outside how a batch ended that the downstream had accepted, as the client's
   * `complete` does, and throws what that throws. Resolves when what it made due has been called.
   */
  complete(completion: CompletionWhat & CompletionReport): Promise<CompletionAnswer> {
    return this.changed(async () => {
      const end = await this.monitor.complete(completion);
      if (end.kind !== 'completed') throw completionError(end, completion);
      const { batch, reference, state, results, repeated } = end;
      return { batch, reference, state, results, repeated };
    });
  }

  /**
   * Moves the time ahead, by milliseconds or as text (`'2s'`), and resolves when all that falls due
   * on the way has been done.
   */
  async advance(by: Duration): Promise<void> {
    const ms = durationMs('advance the world', by);
    return this.inTurn(() => this.run(this.tables.nowMs + ms));
  }

  /** Moves the time to this instant, if it is later: Unix milliseconds. @internal */
  advanceTo(unixMs: number): Promise<void> {
    return this.inTurn(() => this.run(Math.max(unixMs, this.tables.nowMs)));
  }

  /**
   * Returns when the next thing happens, as Unix ms; Infinity: nothing does by itself. @internal
   */
  nextAtMs(): number {
    return this.nextInstant(this.tables.nowMs);
  }

  /** Pauses the handler, or one target: nothing new is claimed or called. */
  pause({ target, reason = 'paused by hand' }: { target?: string; reason?: string } = {}): void {
    this.named(target).pausedFor = reason;
  }

  /** Lets the handler, or one target, go on, also from a hold. */
  resume({ target }: { target?: string } = {}): Promise<void> {
    return this.changed(async () => {
      Object.assign(this.named(target), { pausedFor: null, holdMs: null });
      this.tables.handler.blockedUntilMs = null;
      for (const row of this.tables.targets.values())
        if (row.lane !== null && (target === undefined || row.key === target)) row.lane.ready = true;
    });
  }

  /** Makes what waits in the queues of the handler, or of one target, due at once. */
  flush({ target }: { target?: string } = {}): Promise<void> {
    return this.changed(async () => {
      if (target !== undefined) this.targetNamed(target);
      flushLanes(this.tables.lanes.all, target);
      for (const row of this.tables.targets.values()) {
        if ((target !== undefined && row.key !== target) || row.queue.length === 0) continue;
        row.flushSeq = row.queue.reduce((last, { seq }) => Math.max(last, seq), row.flushSeq ?? 0);
      }
    });
  }

  /** Sets limits of one target in place of the handler's; null removes them. */
  setTarget(target: string, overrides: Overrides | null): Promise<void> {
    return this.changed(async () => {
      this.targetNamed(target).overrides = overrides;
    });
  }

  private named(target: string | undefined): HandlerRow | TargetRow {
    return target === undefined ? this.tables.handler : this.targetNamed(target);
  }

  private targetNamed(key: string): TargetRow {
    const target = this.tables.targets.get(key);
    if (target !== undefined) return target;
    const known = [...this.tables.targets.keys()].join(', ');
    throw new Error(`Cannot find the target: expected one that a task was submitted to (${known}), got "${key}".`);
  }

  private changed<T>(change: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      const changed = await change();
      await this.run(this.tables.nowMs);
      return changed;
    });
  }

  /** Runs one after the other, also what a test does not await. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.running.then(work);
    this.running = next.then(
      () => undefined,
      () => undefined,
    );
    return next;
  }

  private async run(untilMs: number): Promise<void> {
    const { tables } = this;
    await this.runNow();
    for (;;) {
      const atMs = this.nextInstant(tables.nowMs);
      if (atMs > untilMs) break;
      tables.nowMs = atMs;
      await this.runNow();
    }
    tables.nowMs = untilMs;
  }

  /** Does all that is due now. */
  private async runNow(): Promise<void> {
    for (let turn = 0; ; turn++) {
      if (turn > MOST_TURNS)
        throw new Error(`Cannot simulate: expected an end of what is due at one instant, got ${MOST_TURNS} turns.`);
      if (this.balancer.nextAtMs() <= this.tables.nowMs) await this.balancer.run();
      if (this.monitor.nextAtMs() <= this.tables.nowMs) await this.monitor.look();
      if (!(await this.work.step())) return;
    }
  }

  /** Returns the next instant after `afterMs` at which something is due or starts. */
  private nextInstant(afterMs: number): number {
    const later = (atMs: number): number => (atMs > afterMs ? atMs : Infinity);
    const otherMs = Math.min(later(this.monitor.nextAtMs()), later(this.balancer.nextAtMs()));
    return Math.min(otherMs, this.work.nextAtMs(afterMs));
  }
}

/** Returns numbers uniform in [0, 1), the same for the same seed (mulberry32). */
const uniform = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};
