import type { Logger } from 'pino';
import type { LastTurn, SilentTurn } from '../../postgres/grouping/leader';
import { findLostDispatches, wakeExpiredLeaders, wakeWaitingLeaders } from '../../postgres/grouping/leaderWakes';
import type { Pool } from '../../postgres/pool';
import type { Requests } from '../../workflows/temporal/requests';
import type { WokenQueuer } from '../../postgres/lanes/queuer';
import { wakeExpiredQueuers } from '../../postgres/lanes/queuer';
import type { WokenLeader } from '../../postgres/grouping/ring';
import { leaderWorkflowId, queuerWorkflowId } from '../../workflows/naming';
import { formatDuration } from '../../workflows/planning/duration';
import { terminateRuns, wakeLeaderWorkflows, wakeQueuerWorkflows } from '../../workflows/wake';
import { BackOff, TurnBackOff } from './backOff';
import type { SweepCounts } from './counts';
import { isLongAndSilent } from './longRuns';

interface ExpiredOptions {
  pool: Pool;
  requests: Requests;
  prefix: string;
  /** Lease of the leaders that it wakes. */
  leaseMs: number;
  log: Pick<Logger, 'warn'>;
}

const MOST_LEADERS = 200;

/**
 * Wakes leaders and queuers that were silent past their lease, or whose dispatch is; those that
 * take no turn then, less and less often.
 */
export class Expired {
  private readonly leaderBackOff = new TurnBackOff<LastTurn & { leaderId: number }>(({ leaderId }) => leaderId);
  private readonly queuerBackOff = new TurnBackOff<LastTurn & { queuerId: number }>(({ queuerId }) => queuerId);
  private readonly lostBackOff = new BackOff();

  constructor(
    private readonly options: ExpiredOptions,
    private readonly counts: Pick<SweepCounts, 'stuckRuns'> = { stuckRuns: 0 },
  ) {}

  async wakeLeaders(): Promise<WokenLeader[]> {
    const { pool, requests, prefix, leaseMs } = this.options;
    const expired = await wakeExpiredLeaders(pool, MOST_LEADERS, leaseMs);
    const woken = expired.filter((one) => this.leaderBackOff.mayWake(one));
    await this.endLongRuns(woken, ({ handler, name, leaderId }) => leaderWorkflowId(prefix, handler, name, leaderId));
    const failure = await wakeLeaderWorkflows(requests, prefix, woken);
    if (failure !== null) this.leaderBackOff.wakeFailed(woken);
    this.logFailure(failure);
    return woken;
  }

  /** Wakes leaders that wait, perhaps for hours, while a dispatch of theirs was lost. */
  async wakeForLostDispatches(): Promise<WokenLeader[]> {
    const { pool, requests, prefix, leaseMs } = this.options;
    const lost = await findLostDispatches(pool, MOST_LEADERS);
    this.lostBackOff.keep((id) => lost.includes(Number(id)));
    const due = lost.filter((id) => this.lostBackOff.mayTry(String(id), true));
    if (due.length === 0) return [];
    const woken = await wakeWaitingLeaders(pool, due, leaseMs);
    this.logFailure(await wakeLeaderWorkflows(requests, prefix, woken));
    return woken;
  }

  async wakeQueuers(): Promise<WokenQueuer[]> {
    const { pool, requests, prefix, leaseMs } = this.options;
    const woken = (await wakeExpiredQueuers(pool, leaseMs)).filter((one) => this.queuerBackOff.mayWake(one));
    await this.endLongRuns(woken, ({ queuerId }) => queuerWorkflowId(prefix, queuerId));
    const failure = await wakeQueuerWorkflows(requests, prefix, woken);
    if (failure !== null) this.queuerBackOff.wakeFailed(woken);
    this.logFailure(failure);
    return woken;
  }

  /** Ends those whose replay would cost more than a new run: the wake that follows begins it. */
  private async endLongRuns<T extends SilentTurn>(woken: readonly T[], idOf: (one: T) => string): Promise<void> {
    const long = woken.filter(isLongAndSilent);
    if (long.length === 0) return;
    const runs = long.map((one) => ({
      workflowId: idOf(one),
      runId: one.holder!,
      reason: `silent for ${formatDuration(one.silentMs)} after ${one.turn} turns: restarted without a replay`,
    }));
    const { ended, failure } = await terminateRuns(this.options.requests, runs);
    this.logFailure(failure);
    if (ended.length === 0) return;
    this.counts.stuckRuns += ended.length;
    this.options.log.warn(
      { runs: ended.length, first: ended[0] },
      'sweeper: restarting runs that were silent for long',
    );
  }

  private logFailure(failure: Error | null): void {
    if (failure !== null) this.options.log.warn({ err: failure }, 'sweeper: a wake failed; the next round repeats it');
  }
}
