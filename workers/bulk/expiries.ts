import { EXPIRED_AT_ONCE, expireSome } from '../../client/operations/expire';
import type { ReleaseDeps } from '../../activities/grouping/dependents';
import { ENDED_BUDGET_MS, releaseDependents } from '../../activities/grouping/dependents';
import { pages } from '../sweeper/pages';
import type { SweepCounts } from '../sweeper/counts';
import type { ChangingDeps } from './context';
import { changing } from './context';

/** Longest that one round ends tasks; the next one goes on. */
const ROUND_MS = 250;

/**
 * Ends tasks that still wait although their time has passed, and tells of them. Of what depended on
 * them a round works off as much as for any end.
 */
export const endExpired = (
  deps: ChangingDeps & Pick<ReleaseDeps, 'outcomes'>,
  counts: Pick<SweepCounts, 'expiries'>,
): Promise<void> =>
  pages(ROUND_MS, async () => {
    const context = { ...changing(deps), releaseDependents: () => releaseDependents(deps, ENDED_BUDGET_MS) };
    const looked = await expireSome(context, (failed) => deps.outcomes?.failedUnsent(failed));
    counts.expiries += looked;
    return looked === EXPIRED_AT_ONCE;
  });
