import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { closeChunk, giveBackItems, takeChunk } from '../../postgres/executions/chunk';
import type { TakenChunk } from '../../postgres/executions/chunk';
import { withRetries } from '../../postgres/errors';
import { readExecution } from '../../postgres/executions/view';
import type { ExecutionTemplate, WorkOrderBatch, WorkOrderBatchResponse } from '../../workflows/messages';
import { succeeded } from '../../workflows/planning/executions/attempts';
import { granted } from '../../workflows/planning/executions/ceilings';
import type { ItemUsage } from '../../workflows/planning/executions/usage';
import { isOver, pendingOf } from '../../workflows/planning/executions/states';
import type { ActivityDeps } from '../deps';
import { ChunkItems } from './chunkItems';
import { cutOutput, makeExecutor, nodeFailure } from './executors';
import type { Executor, Place, RunOutcome } from './executors';
import { HostPace } from './hostPace';
import { interruption } from './interruption';
import { nowNs } from '../nodes/heartbeat';
import type { ChunkLease, HeldChunk } from '../nodes/heartbeat';
import { ResultWriter } from './resultWriter';
import type { OpenedItem } from '../codec/sealedItems';

/**
 * Time after which functions that never wait still yield to the event loop, or no result would be
 * written before the last item.
 */
const YIELD_AFTER_MS = 20;

const NOT_TAKEN: WorkOrderBatchResponse = {
  taken: false,
  done: 0,
  failed: 0,
  returned: 0,
  refused: 0,
  pending: 0,
  over: false,
};

/**
 * Runs a chunk on its node: takes it, runs its items one by one (or as many at once as it may), and
 * has each result recorded as it comes.
 */
export const workOrderBatch = async (
  deps: ActivityDeps,
  { chunkId }: WorkOrderBatch,
): Promise<WorkOrderBatchResponse> => {
  const { pool, node, executions } = deps;
  const context = Context.current();
  const takenAt = nowNs();
  const taken = await withRetries(() => takeChunk(pool, chunkId, node, executions.leaseMs));
  // The chunk was closed, or an earlier attempt of this activity took it and its answer was lost.
  if (taken === null) return NOT_TAKEN;
  const chunk = { id: chunkId, nodeId: node, epoch: taken.epoch };
  const { timeoutMs, concurrency } = settingsOf(taken, deps);
  const hold = { chunk, leaseMs: executions.leaseMs, itemMs: timeoutMs };
  const lease = deps.heartbeat.hold(hold, concurrency, takenAt);
  const heartbeat = setInterval(() => context.heartbeat(), Math.max(100, executions.leaseMs / 5));
  const interrupted = AbortSignal.any([interruption(context, deps.draining), lease.lost]);
  setMaxListeners(0, interrupted);
  const run = new ChunkRun(deps, chunk, taken, lease, interrupted);
  try {
    await run.run();
    return await run.conclude();
  } finally {
    clearInterval(heartbeat);
    lease.end();
  }
};

/** Returns the template's settings, or else the operator's; never above the operator's ceilings. */
const settingsOf = ({ config, n }: TakenChunk, { executions }: ActivityDeps) => {
  const { concurrency, timeoutMs } = config as ExecutionTemplate['config'];
  const allowed = granted(executions, { concurrency, timeoutMs }, executions);
  return { ...allowed, concurrency: Math.min(allowed.concurrency, n) };
};

const toMicroseconds = (ms: number): number => Math.round(ms * 1_000) / 1_000;
const usageOf = (outcome: RunOutcome, wallMs: number): ItemUsage => ({
  wallMs: toMicroseconds(wallMs),
  cpuMs: outcome.cpuMs === undefined ? null : toMicroseconds(outcome.cpuMs),
  memoryBytes: outcome.memoryBytes ?? null,
  stdoutBytes: outcome.stdoutBytes ?? Buffer.byteLength(outcome.stdout),
  stderrBytes: outcome.stderrBytes ?? Buffer.byteLength(outcome.stderr),
});

class ChunkRun {
  private readonly writer: ResultWriter;
  private readonly config: ExecutionTemplate['config'];
  private readonly pace: HostPace;
  private readonly items: ChunkItems;
  /** Interrupt what runs: the execution was cancelled, or no result can be recorded any more. */
  private readonly cancelled: AbortSignal;
  /** Start no further item: this process is stopping, or what runs is interrupted. */
  private readonly stop: AbortSignal;
  private readonly timeoutMs: number;
  private readonly concurrency: number;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly chunk: HeldChunk,
    private readonly taken: TakenChunk,
    private readonly lease: ChunkLease,
    interrupted: AbortSignal,
  ) {
    this.config = taken.config;
    ({ timeoutMs: this.timeoutMs, concurrency: this.concurrency } = settingsOf(taken, deps));
    this.writer = new ResultWriter(deps.pool, chunk, interrupted, deps.log, deps.meters, deps.sealer);
    this.cancelled = AbortSignal.any([interrupted, this.writer.failed]);
    setMaxListeners(0, this.cancelled);
    this.stop = AbortSignal.any([this.cancelled, deps.draining]);
    const { pool, log, sealer } = deps;
    const flush = (): Promise<void> => this.writer.flush();
    this.items = new ChunkItems({ pool, log, sealer, chunk, concurrency: this.concurrency, stop: this.stop, flush });
    // The rate applies to all nodes of the round together.
    this.pace = new HostPace((this.config.ratePerHost ?? Infinity) / taken.siblings);
  }

  async run(): Promise<void> {
    const { executions, modules, log } = this.deps;
    const { concurrency } = this;
    const { functionId, method } = this.taken;
    const executor = await makeExecutor(
      executions,
      modules,
      { functionId, method, concurrency, limits: executions.limits },
      log,
    );
    try {
      await this.all(executor, false);
      // What was lost before comes last, when all else has its result: alone, so that it is known.
      await this.all(executor, true);
    } finally {
      await executor.close();
    }
    await this.writer.flush();
  }

  /** Runs the items that were lost with a node before, or the others. */
  private async all(executor: Executor, lostBefore: boolean): Promise<void> {
    const given = executor.runsCode ? this.items.announced(lostBefore) : this.items.plain(lostBefore);
    let yieldedAt = performance.now();
    const runner = async (_: unknown, index: number): Promise<void> => {
      for (let item = await given.next(); item.done !== true; item = await given.next()) {
        await this.pace.turn(item.value.arguments, this.stop);
        const place = await executor.place?.(this.stop);
        try {
          if (!(await this.lease.check(this.stop))) break;
          this.lease.begin(index, item.value.position);
          await this.one(place ?? executor, item.value);
          this.lease.done(index);
        } finally {
          place?.leave();
        }
        if (performance.now() - yieldedAt > YIELD_AFTER_MS) {
          await setImmediate();
          yieldedAt = performance.now();
        }
      }
    };
    const length = lostBefore && executor.runsCode ? 1 : this.concurrency;
    await Promise.all(Array.from({ length }, runner));
  }

  /**
   * Concludes the chunk once nothing of it runs any more: items that were not run are given back at
   * once.
   */
  async conclude(): Promise<WorkOrderBatchResponse> {
    const { pool, node } = this.deps;
    const { counts, last } = this.writer;
    let returned = 0;
    if (last?.open !== false && (await withRetries(() => closeChunk(pool, this.chunk.id, 'returned', node)))) {
      this.deps.meters.gaveBack('returned');
      returned = this.taken.n - counts.done - counts.failed;
      while ((await withRetries(() => giveBackItems(pool, this.chunk.id))).left > 0);
    }
    const execution = await withRetries(() => readExecution(pool, this.taken.executionId));
    return {
      taken: true,
      ...counts,
      returned,
      pending: execution === null ? 0 : pendingOf(execution.counts),
      over: execution === null || isOver(execution.state),
    };
  }

  private async one(runner: Pick<Place, 'run'>, item: OpenedItem): Promise<void> {
    const { executions } = this.deps;
    const begun = performance.now();
    const outcome = await this.bounded(runner, item, this.timeoutMs);
    // The run was interrupted from outside: count no attempt, and give the item back.
    if (outcome === null) return;
    const wallMs = performance.now() - begun;
    this.deps.meters.ran(wallMs);
    const exitCode = outcome.exitCode;
    await this.writer.add({
      position: item.position,
      ok: succeeded({ exitCode, nodeError: outcome.nodeError !== undefined }),
      exitCode,
      stdout: cutOutput(outcome.stdout, executions.limits.stdoutBytes, outcome.stdoutBytes),
      stderr: cutOutput(outcome.stderr, executions.limits.stderrBytes, outcome.stderrBytes),
      usage: usageOf(outcome, wallMs),
      metadata: outcome.metadata ?? null,
    });
  }

  /**
   * Runs an item within its timeout. A run that exceeds it fails as a failure of the node; its late
   * result is discarded.
   */
  private async bounded(runner: Pick<Place, 'run'>, item: OpenedItem, timeoutMs: number): Promise<RunOutcome | null> {
    if (item.unreadable !== undefined) return nodeFailure(item.unreadable);
    const time = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<RunOutcome | null>((resolve) => {
      timer = setTimeout(() => {
        time.abort(new Error(`no answer within ${timeoutMs} ms`));
        resolve(nodeFailure(`no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      this.cancelled.addEventListener('abort', () => resolve(null), { signal: time.signal });
    });
    try {
      const signal = AbortSignal.any([time.signal, this.cancelled]);
      const { executionId, method } = this.taken;
      const env = this.config.envVars ?? {};
      const ran = runner
        .run(item.arguments, { method, env, position: item.position, executionId, signal })
        .catch((error: unknown) => nodeFailure(`the run failed: ${String(error)}`));
      return await Promise.race([ran, late]);
    } finally {
      clearTimeout(timer);
      time.abort();
    }
  }
}
