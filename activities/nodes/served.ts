import { NODE_LIVE_MS } from '../../postgres/nodes/node';
import { WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import { markServedWaiting, wakeServedWaiting } from '../../postgres/nodes/served';
import { UNSERVED } from '../../workflows/planning/grouping/next';
import type { RingDeps } from '../grouping/ring';
import { wake } from '../grouping/ring';
import { wakeQueuersOf } from '../lanes/ring';

/** Most lanes per statement; the sweeper's next rounds mark the others. */
const MOST_LANES = 1_000;

/**
 * Rings what waited for a node that is live now: called by a node that has just joined, and by the
 * sweeper in each round.
 */
export const ringServed = async (deps: RingDeps): Promise<void> => {
  const queuers = await markServedWaiting(deps.pool, NODE_LIVE_MS, MOST_LANES);
  if (queuers.length > 0) await wakeQueuersOf(deps, queuers);
  await wake(deps, await wakeServedWaiting(deps.pool, UNSERVED, WAKE_LEASE_MS));
};
