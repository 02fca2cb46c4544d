import type { Pool } from '../../postgres/pool';
import type { ReapIntervals } from '../../postgres/fanouts/reap';
import { reapRound } from '../../postgres/fanouts/reap';
import type { SweepCounts } from './counts';
import { DAY_MS } from '../../workflows/planning/duration';

/**
 * Two intervals: an open fan-out is forgotten by its producer, a sealed one may still wait for slow
 * consumers.
 */
export const DEFAULT_REAP: ReapIntervals = {
  openIdleMs: 7 * DAY_MS,
  sealedIdleMs: 30 * DAY_MS,
  keepEndedMs: 7 * DAY_MS,
};
/**
 * Rows that are days old can wait for the next look; a look that found some goes on with the next
 * round.
 */
export const REAP_EVERY_MS = 60_000;

/**
 * The sweeper's step for fan-outs: bounded work per round. The notifications' step finds the
 * messages that it writes.
 */
export class FanoutReaper {
  private nextAt = 0;

  constructor(
    private readonly pool: Pool,
    private readonly intervals: ReapIntervals = DEFAULT_REAP,
    private readonly everyMs = REAP_EVERY_MS,
  ) {}

  async look(counts: Pick<SweepCounts, 'expiredFanouts' | 'deletedFanouts'>): Promise<void> {
    if (performance.now() < this.nextAt) return;
    let goesOn = false;
    try {
      const { expiredOpen, expiredSealed, deletedFanouts, more } = await reapRound(this.pool, this.intervals);
      counts.expiredFanouts += expiredOpen + expiredSealed;
      counts.deletedFanouts += deletedFanouts;
      goesOn = more;
    } finally {
      // Also after a failure: a statement that takes too long would take as long in each round.
      this.nextAt = goesOn ? 0 : performance.now() + this.everyMs;
    }
  }
}
