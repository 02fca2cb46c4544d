import { DAY_MS } from '../../workflows/planning/duration';
import type { Pool } from '../pool';
import { inTransaction } from '../pool';
import type { UnusedPage } from './unused';
import * as unused from './unused';

/** How long nothing refers to a target or lane before it is deleted. */
const UNUSED_MS = DAY_MS;
/** How often all are looked at. */
const PASS_MS = 3_600_000;
/** When the second pass of a process follows, since the first one deletes nothing. */
const SECOND_PASS_MS = 60_000;
const ROWS_PER_PAGE = 1_000;
/** Longest that one round looks; at least one page. */
const BUDGET_MS = 50;

export interface DeletedUnused {
  targets: number;
  lanes: number;
  leaders: number;
  /** How long an open transaction has kept all others, where a pass began; else 0. */
  keptForMs: number;
}

/**
 * Deletes targets and lanes that were unused for a day, and leaders that have no target any more,
 * in bounded steps: an hourly pass over all of them, targets first. What saw a target before it was
 * marked may store tasks for it in a transaction that began half a day later: nothing goes before.
 */
export class UnusedRows {
  private place: { kind: Kind; after: number } | null = null;
  private beforeMs = 0;
  private passAt = -Infinity;
  private pauseMs = PASS_MS;
  private fence: unused.Horizon | null = null;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Goes on with the pass, or begins one when its time has come. To be called again and again. */
  async look(pool: Pool): Promise<DeletedUnused> {
    const deleted = { targets: 0, lanes: 0, leaders: 0, keptForMs: 0 };
    const startedAt = this.now();
    if (this.place === null && startedAt - this.passAt < this.pauseMs) return deleted;
    if (this.place === null) deleted.keptForMs = await this.begin(pool);
    do {
      const { kind, after } = this.place!;
      if (kind === 'targets') {
        const page = await unused.markUnusedTargets(pool, after, ROWS_PER_PAGE, this.beforeMs);
        deleted.targets += await deleteTargets(pool, page.ids, this.beforeMs);
        this.place = next(kind, page, 'lanes');
      } else if (kind === 'lanes') {
        const page = await unused.markUnusedLanes(pool, after, ROWS_PER_PAGE, this.beforeMs);
        deleted.lanes += await deleteLanes(pool, page.ids, this.beforeMs);
        this.place = next(kind, page, 'leaders');
      } else {
        const page = await unused.findIdleLeaders(pool, after, ROWS_PER_PAGE);
        deleted.leaders += await deleteLeaders(pool, page.ids);
        this.place = next(kind, page, null);
      }
    } while (this.place !== null && this.now() - startedAt < BUDGET_MS);
    return deleted;
  }

  /**
   * Begins a pass. The fence is an earlier instant; once all transactions from before it have
   * ended, what had been marked for a day by then may go. Returns how long it has waited for them.
   */
  private async begin(pool: Pool): Promise<number> {
    const horizon = await unused.readHorizon(pool);
    // A server that was restored from elsewhere may count from lower numbers.
    if (this.fence !== null && BigInt(horizon.next) < BigInt(this.fence.next)) this.fence = null;
    const { fence } = this;
    const isOver = fence === null || BigInt(horizon.oldest) >= BigInt(fence.next);
    this.beforeMs = fence !== null && isOver ? fence.atMs - UNUSED_MS : 0;
    if (isOver) this.fence = horizon;
    this.pauseMs = fence === null ? SECOND_PASS_MS : PASS_MS;
    this.passAt = this.now();
    this.place = { kind: 'targets', after: 0 };
    return isOver ? 0 : horizon.atMs - fence.atMs;
  }
}

type Kind = 'targets' | 'lanes' | 'leaders';
const next = (kind: Kind, page: UnusedPage, then: Kind | null): { kind: Kind; after: number } | null => {
  if (page.next !== null) return { kind, after: page.next };
  return then === null ? null : { kind: then, after: 0 };
};

const deleteTargets = async (pool: Pool, ids: readonly number[], beforeMs: number): Promise<number> =>
  ids.length === 0
    ? 0
    : inTransaction(pool, async (client) => {
        const locked = await unused.lockUnusedTargets(client, ids, beforeMs);
        return unused.deleteLockedTargets(client, locked);
      });

const deleteLanes = async (pool: Pool, ids: readonly number[], beforeMs: number): Promise<number> =>
  ids.length === 0
    ? 0
    : inTransaction(pool, async (client) => {
        const locked = await unused.lockUnusedLanes(client, ids, beforeMs);
        return unused.deleteLockedLanes(client, locked);
      });

const deleteLeaders = async (pool: Pool, ids: readonly number[]): Promise<number> =>
  ids.length === 0
    ? 0
    : inTransaction(pool, async (client) =>
        unused.deleteLockedLeaders(client, await unused.lockIdleLeaders(client, ids)),
      );
