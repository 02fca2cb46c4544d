import type { Duration } from '@temporalio/common';
import type { CompletionReport, CompletionWhat } from '../../../activities/accepted/completion';
import { workOffEnded } from '../../../activities/grouping/dependents';
import { QueueHome } from '../../../activities/calls/queueHome';
import type { CompletionAnswer } from '../../../client/operations/complete';
import { completionError } from '../../../client/operations/complete';
import type { TaskInput } from '../../../client/tasks/checkTasks';
import type { Handler } from '../../../handlers/types';
import type { Pool } from '../../../postgres/pool';
import { durationMs } from '../duration';
import { Caller } from './caller';
import { Claims } from './claim';
import { memoryPool } from './memoryPool';
import { Monitor } from './monitor';
import { refuseUnsimulated } from './refusals';
import { Submission } from './submission';
import type { BatchRow, HandlerRow, Overrides, TargetRow } from './tables';
import { Tables } from './tables';
import type { SimulatedBatch, SimulatedCall, SimulatedTask } from './views';
import { batchView, taskView } from './views';

/** Options of `simulate`. */
export interface SimulateOptions {
  /** When the world begins: Unix milliseconds. Default: 2026-01-01T00:00:00Z. */
  startMs?: number;
  /** Of the jitter after back pressure without `retryAfterMs`. Default 1. */
  seed?: number;
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
  private readonly claims: Claims;
  private readonly caller: Caller;
  private readonly monitor: Monitor;
  private readonly submission: Submission;
  private running: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(handler: Handler<P, I>, { startMs = Date.UTC(2026, 0, 1), seed = 1 }: SimulateOptions) {
    refuseUnsimulated(handler);
    this.startMs = startMs;
    this.tables = new Tables(handler.name, startMs);
    this.claims = new Claims(this.tables, handler);
    const pool = (this.pool = memoryPool(this.tables, handler));
    const home = new QueueHome(pool, {}, uniform(seed));
    this.submission = new Submission(this.tables, handler, pool);
    this.monitor = new Monitor(this.tables, handler, pool, home);
    this.caller = new Caller(this.tables, handler, pool, home, (batch, members, outcome) => {
      const tasks = members.map(({ id, payload, attempts }) => ({ id, payload: JSON.parse(payload) as P, attempts }));
      const { attempt, reason, target } = batch;
      const atMs = this.tables.nowMs - startMs;
      this.calls.push({ atMs, target: target.key, batch: batch.id, attempt, reason, tasks, outcome: outcome.kind });
    });
  }
  private readonly startMs: number;
  private readonly pool: Pool;

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
    return this.inTurn(async () => {
      await this.submission.accept(all);
      await this.run(this.tables.nowMs);
    });
  }

  /**
   * Reports from outside how a batch ended that the downstream had accepted, as the client's
   * `complete` does, and throws what that throws. Resolves when what it made due has been called.
   */
  complete(completion: CompletionWhat & CompletionReport): Promise<CompletionAnswer> {
    return this.inTurn(async () => {
      const end = await this.monitor.complete(completion);
      if (end.kind !== 'completed') throw completionError(end, completion);
      await this.run(this.tables.nowMs);
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
    return this.changed(() => {
      Object.assign(this.named(target), { pausedFor: null, holdMs: null });
      this.tables.handler.blockedUntilMs = null;
    });
  }

  /** Makes what waits in the queues of the handler, or of one target, due at once. */
  flush({ target }: { target?: string } = {}): Promise<void> {
    return this.changed(() => {
      if (target !== undefined) this.targetNamed(target);
      for (const row of this.tables.targets.values()) {
        if ((target !== undefined && row.key !== target) || row.queue.length === 0) continue;
        row.flushSeq = row.queue.reduce((last, { seq }) => Math.max(last, seq), row.flushSeq ?? 0);
      }
    });
  }

  /** Sets limits of one target in place of the handler's; null removes them. */
  setTarget(target: string, overrides: Overrides | null): Promise<void> {
    return this.changed(() => {
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

  private changed(change: () => void): Promise<void> {
    return this.inTurn(() => {
      change();
      return this.run(this.tables.nowMs);
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
      if (this.monitor.nextAtMs() <= this.tables.nowMs) await this.monitor.look();
      const due = this.startable();
      const batches = due.length > 0 ? due : this.claims.take();
      // Of tasks that end unsent with the claim.
      if (this.tables.ended.length > 0) await workOffEnded(this.pool);
      if (batches.length === 0) return;
      for (const batch of batches) if ((batch.retryAtMs ?? 0) <= this.tables.nowMs) await this.caller.call(batch);
    }
  }

  /** Returns batches that a dispatch has and that may start now. */
  private startable(): BatchRow[] {
    const due: BatchRow[] = [];
    for (const target of this.tables.targets.values())
      for (const batch of target.batches)
        if (batch.carried && (batch.retryAtMs ?? 0) <= this.tables.nowMs) due.push(batch);
    return due.sort((a, b) => a.id - b.id);
  }

  /** Returns the next instant after `afterMs` at which something is due or starts. */
  private nextInstant(afterMs: number): number {
    const heldMs = this.claims.heldUntilMs();
    let next = Infinity;
    const consider = (atMs: number): void => {
      if (atMs > afterMs && atMs < next) next = atMs;
    };
    consider(this.monitor.nextAtMs());
    for (const target of this.tables.targets.values()) {
      consider(Math.max(heldMs, this.claims.dueAtMs(target)));
      for (const batch of target.batches) if (batch.carried) consider(batch.retryAtMs ?? 0);
    }
    return next;
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
