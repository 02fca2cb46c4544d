import type { Pool } from '../../../postgres/pool';
import type { DuePlace } from '../../../postgres/sweeper/sweep';
import { sweepDelayed, sweepDue } from '../../../postgres/sweeper/sweep';
import { pages } from '../pages';

interface Options {
  pool: Pool;
  /** How far back a delayed task became due, to be looked for in each round. */
  recentMs: number;
  /** Longest that one round reads of each kind. */
  budgetMs: number;
  /** Rows per page. */
  page: number;
  /** Rings targets that nothing would look at in time. */
  ring(targetIds: readonly number[]): Promise<void>;
}

/**
 * Looks for targets with delayed tasks whose ring never came: first at those that have just become
 * due, in each round, then at all, a part in each round.
 */
export class DelayedTargets {
  private due: DuePlace | null = null;
  private target = 0;

  constructor(private readonly options: Options) {}

  async look(): Promise<void> {
    const { pool, recentMs, budgetMs, page, ring } = this.options;
    await pages(budgetMs, async () => {
      const { next, forgotten } = await sweepDue(pool, this.due, recentMs, page);
      await ring(forgotten);
      this.due = next;
      return next !== null;
    });
    await pages(budgetMs, async () => {
      const { next, forgotten } = await sweepDelayed(pool, this.target, page);
      await ring(forgotten);
      this.target = next ?? 0;
      return next !== null;
    });
  }
}
