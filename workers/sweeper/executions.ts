import type { ActivityDeps } from '../../activities/deps';
import { DEFAULT_RETENTION_MS } from '../../activities/executions/settings';
import { withRetries } from '../../postgres/errors';
import { readExpiredExecutions } from '../../postgres/executions/chunk';
import {
  deleteAbandonedStaging,
  dueExecutions,
  hastenWaitingExecutions,
  WOKEN_AT_ONCE,
  wakeOpenExecutions,
} from '../../postgres/executions/execution';
import { wakeExecutions } from '../../workflows/wake';
import { ExecutionReaper } from './executionReaper';
import { LongSeen } from './longSeen';
import type { SweepCounts } from './counts';

type Deps = Pick<ActivityDeps, 'pool' | 'requests' | 'prefix' | 'log'>;

/**
 * Wakes executions that found no node, or too few, for a node that has just come. The sweeper
 * repeats it for those that take no turn, and wakes those beyond the first. Never throws: without
 * Postgres it is repeated by their requeue interval.
 */
export const wakeWaitingExecutions = async ({ pool, requests, prefix, log }: Deps): Promise<void> => {
  try {
    const first = await withRetries(() => hastenWaitingExecutions(pool, WOKEN_AT_ONCE));
    const failure = await wakeExecutions(requests, prefix, first);
    if (failure !== null) throw failure;
  } catch (error) {
    log.warn({ err: error }, 'executions that wait for nodes were not all woken for this node');
  }
};

/** Executions per round of the sweeper; the next round takes the next. */
const PER_ROUND = 200;
const AGAIN_MS = 30_000;
const STAGED_ITEMS = 2_000;
/**
 * A run that lives closes a chunk within this after the end of its lease, and a node that had no
 * Postgres renews it within this after Postgres is back.
 */
const UNCLOSED_MS = 5_000;

interface ExecutionSweepSettings {
  startupDelayMs: number;
  /** Default 7 days. */
  retentionMs?: number;
}

/**
 * The sweeper's part: wakes executions whose workflow did not look when it should have, which after
 * a restart of everything are all open ones. They are resumed some at a time, and only after the
 * start-up delay, so that nodes can come back first.
 */
export class ExecutionSweep {
  private readonly startedAt = performance.now();

  /** Executions with a chunk past its lease. */
  private readonly expired = new LongSeen(UNCLOSED_MS, AGAIN_MS);
  private readonly startupDelayMs: number;
  private readonly reaper: ExecutionReaper;

  constructor(
    private readonly deps: Deps,
    { startupDelayMs, retentionMs = DEFAULT_RETENTION_MS }: ExecutionSweepSettings = { startupDelayMs: 0 },
  ) {
    this.startupDelayMs = startupDelayMs;
    this.reaper = new ExecutionReaper(deps.pool, retentionMs);
  }

  /** Deletes executions whose retention has passed. */
  reap(counts: Pick<SweepCounts, 'deletedExecutions' | 'deletedItems'>): Promise<void> {
    return this.reaper.look(counts);
  }

  /** Runs a round; returns the executions that it woke, and how long their next runs wait first. */
  async round(): Promise<{ woken: string[]; resumeAfterMs: number }> {
    const { pool, requests, prefix, log } = this.deps;
    const resumeAfterMs = Math.max(0, Math.round(this.startupDelayMs - (performance.now() - this.startedAt)));
    const againMs = AGAIN_MS + this.startupDelayMs;
    const due = await dueExecutions(pool, PER_ROUND, againMs, resumeAfterMs);
    // Its run may have been ended by an operator, or lost with Temporal's store: nobody tells.
    const unclosed = this.expired.see(await readExpiredExecutions(pool, PER_ROUND), performance.now());
    const early = unclosed.length === 0 ? [] : await wakeOpenExecutions(pool, unclosed, againMs, resumeAfterMs);
    const woken = [...new Set([...due, ...early])];
    if (woken.length > 0) {
      log.info({ executions: woken.length, resumeAfterMs }, 'sweeper: woke executions that missed their wake time');
      const failure = await wakeExecutions(requests, prefix, woken, resumeAfterMs);
      if (failure !== null) throw failure;
    }
    await deleteAbandonedStaging(pool, STAGED_ITEMS);
    return { woken, resumeAfterMs };
  }
}
