import { withRetries } from '../../postgres/errors';
import { lowerDue, WAKE_LEASE_MS, wakeLeaders } from '../../postgres/grouping/ring';
import type { WokenLeader } from '../../postgres/grouping/ring';
import { wakeLeaderWorkflows } from '../../workflows/wake';
import { briefly } from '../../workflows/behind';
import type { ActivityDeps } from '../deps';

/** The part of a log that a ring needs. */
export interface RingLog {
  warn(fields: { err: Error }, message: string): void;
}
export type RingDeps = Pick<ActivityDeps, 'pool' | 'requests' | 'prefix'> & { log: RingLog };

/**
 * Rings after a commit that made work eligible: first lowers due times, then elects leaders, each
 * in a separate statement (docs/internals/ring-protocol.md); then sends the wakes.
 */
export const ring = async (deps: RingDeps, targetIds: readonly number[]): Promise<void> => {
  if (targetIds.length === 0) return;
  await withRetries(() => lowerDue(deps.pool, targetIds));
  await wake(deps, await withRetries(() => wakeLeaders(deps.pool, targetIds, WAKE_LEASE_MS)));
};

export const wake = (deps: RingDeps, leaders: readonly WokenLeader[]): Promise<void> =>
  leaders.length === 0
    ? Promise.resolve()
    : awaitBriefly(deps, wakeLeaderWorkflows(deps.requests, deps.prefix, leaders), 'a wake failed');

/**
 * How long the maker of work (a turn, a settlement) waits for wakes. Then it goes on without
 * waiting for them.
 */
const AWAITED_MS = 1_000;

/** Waits for a wake, up to a limit; one that fails is logged, whenever it does. */
export const awaitBriefly = async (deps: RingDeps, wake: Promise<Error | null>, failed: string): Promise<void> => {
  const logged = wake.then((failure) => {
    if (failure !== null) deps.log.warn({ err: failure }, `${failed}; the sweeper will repeat it`);
  });
  await briefly(logged, AWAITED_MS);
};
