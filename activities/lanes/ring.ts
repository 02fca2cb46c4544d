import { queuersOf, wakeQueuers } from '../../postgres/lanes/queuer';
import { WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import { wakeQueuerWorkflows } from '../../workflows/wake';
import type { RingDeps } from '../grouping/ring';
import { awaitBriefly } from '../grouping/ring';

/**
 * Wakes the queuers of lanes that a committed transaction has marked as ready (a settlement does),
 * if a submitter is free: step 2 of the ring.
 */
export const ringLanes = async (deps: RingDeps, laneIds: readonly number[]): Promise<void> => {
  if (laneIds.length > 0) await wakeQueuersOf(deps, await queuersOf(deps.pool, laneIds));
};

export const wakeQueuersOf = async (deps: RingDeps, queuerIds: readonly number[]): Promise<void> => {
  const woken = await wakeQueuers(deps.pool, queuerIds, WAKE_LEASE_MS);
  if (woken.length > 0)
    await awaitBriefly(deps, wakeQueuerWorkflows(deps.requests, deps.prefix, woken), 'a queuer was not woken');
};
