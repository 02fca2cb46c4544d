import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { LastTurn } from '../../postgres/grouping/leader';
import { wakeExpiredLeaders } from '../../postgres/grouping/leaderWakes';
import type { Pool } from '../../postgres/pool';
import type { WokenQueuer } from '../../postgres/lanes/queuer';
import { wakeExpiredQueuers } from '../../postgres/lanes/queuer';
import type { WokenLeader } from '../../postgres/grouping/ring';
import { wakeLeaderWorkflows, wakeQueuerWorkflows } from '../../workflows/wake';
import { TurnBackOff } from './backOff';

interface ExpiredOptions {
  pool: Pool;
  temporal: Client;
  prefix: string;
  /** Lease of the leaders that it wakes. */
  leaseMs: number;
  log: Pick<Logger, 'warn'>;
}

const MOST_LEADERS = 200;

/**
 * Wakes leaders and queuers that were silent past their lease; those that take no turn then, less
 * and less often.
 */
export class Expired {
  private readonly leaderBackOff = new TurnBackOff<LastTurn & { leaderId: number }>(({ leaderId }) => leaderId);
  private readonly queuerBackOff = new TurnBackOff<LastTurn & { queuerId: number }>(({ queuerId }) => queuerId);

  constructor(private readonly options: ExpiredOptions) {}

  async wakeLeaders(): Promise<WokenLeader[]> {
    const { pool, temporal, prefix, leaseMs } = this.options;
    const expired = await wakeExpiredLeaders(pool, MOST_LEADERS, leaseMs);
    const woken = expired.filter((one) => this.leaderBackOff.mayWake(one));
    const failure = await wakeLeaderWorkflows(temporal, prefix, woken);
    if (failure !== null) this.leaderBackOff.wakeFailed(woken);
    this.logFailure(failure);
    return woken;
  }

  async wakeQueuers(): Promise<WokenQueuer[]> {
    const { pool, temporal, prefix, leaseMs } = this.options;
    const woken = (await wakeExpiredQueuers(pool, leaseMs)).filter((one) => this.queuerBackOff.mayWake(one));
    const failure = await wakeQueuerWorkflows(temporal, prefix, woken);
    if (failure !== null) this.queuerBackOff.wakeFailed(woken);
    this.logFailure(failure);
    return woken;
  }

  private logFailure(failure: Error | null): void {
    if (failure !== null) this.options.log.warn({ err: failure }, 'sweeper: a wake failed; the next round repeats it');
  }
}
