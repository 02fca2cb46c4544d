import { reapExecutions } from '../../postgres/executions/reap';
import type { Pool } from '../../postgres/pool';
import type { SweepCounts } from './counts';
import { REAP_EVERY_MS } from './fanoutReaper';

/** Time per round of the sweeper, in steps of milliseconds; at least one step. */
const BUDGET_MS = 250;

/** The sweeper's step for executions that ended longer ago than `executions.retentionMs`. */
export class ExecutionReaper {
  private nextAt = 0;

  constructor(
    private readonly pool: Pool,
    private readonly retentionMs: number,
    private readonly everyMs = REAP_EVERY_MS,
  ) {}

  async look(counts: Pick<SweepCounts, 'deletedExecutions' | 'deletedItems'>): Promise<void> {
    if (performance.now() < this.nextAt) return;
    const until = performance.now() + BUDGET_MS;
    let more = true;
    while (more && performance.now() < until) {
      const step = await reapExecutions(this.pool, this.retentionMs);
      counts.deletedExecutions += step.deletedExecutions;
      counts.deletedItems += step.deletedItems;
      ({ more } = step);
    }
    this.nextAt = more ? 0 : performance.now() + this.everyMs;
  }
}
