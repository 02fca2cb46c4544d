import { releaseTargets } from '../../postgres/calls/batch';
import { findHandler } from '../../postgres/grouping/handler';
import { wakeBlockedLeaders } from '../../postgres/grouping/leaderWakes';
import { WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import { wakeNotifier } from '../../workflows/wake';
import type { RingDeps } from './ring';
import { awaitBriefly, ring, wake } from './ring';

/**
 * Frees targets after accepted batches of theirs were concluded: the batches' slots and weight are
 * free and tasks may have come back, so the targets take part again, leaders that waited for the
 * handler's weight look again, and callbacks go out.
 */
export const freeTargets = async (
  deps: RingDeps,
  handler: string,
  targetIds: readonly number[],
  hasNotifications: boolean,
): Promise<void> => {
  if (targetIds.length > 0) {
    await releaseTargets(deps.pool, targetIds);
    await ring(deps, targetIds);
    const row = await findHandler(deps.pool, handler);
    if (row !== null) await wake(deps, await wakeBlockedLeaders(deps.pool, row.id, null, WAKE_LEASE_MS));
  }
  if (hasNotifications)
    await awaitBriefly(deps, wakeNotifier(deps.requests, deps.prefix), 'the notifier was not woken');
};
