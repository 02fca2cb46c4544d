import { EXPIRED_AT_ONCE, expireSome } from '../../client/operations/expire';
import type { ReleaseDeps } from '../../activities/grouping/dependents';
import { pages } from '../sweeper/pages';
import type { SweepCounts } from '../sweeper/counts';
import type { ChangingDeps } from './context';
import { changing } from './context';

/** Longest that one round ends tasks; the next one goes on. */
const ROUND_MS = 250;

/** Ends tasks that still wait although their time has passed, and tells of them. */
export const endExpired = (
  deps: ChangingDeps & Pick<ReleaseDeps, 'outcomes'>,
  counts: Pick<SweepCounts, 'expiries'>,
): Promise<void> =>
  pages(ROUND_MS, async () => {
    const looked = await expireSome(changing(deps), (failed) => deps.outcomes?.failedUnsent(failed));
    counts.expiries += looked;
    return looked === EXPIRED_AT_ONCE;
  });
