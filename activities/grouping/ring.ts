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
export type RingDeps = Pick<ActivityDeps, 'pool' | 'temporal' | 'prefix'> & { log: RingLog };

/**
 * After a commit that made work eligible: R1, R2, each a statement of its own, then the wakes
 * (store.md section 1).
 */
export const ring = async (deps: RingDeps, targetIds: readonly number[]): Promise<void> => {
  if (targetIds.length === 0) return;
  await withRetries(() => lowerDue(deps.pool, targetIds));
  await wake(deps, await withRetries(() => wakeLeaders(deps.pool, targetIds, WAKE_LEASE_MS)));
};

export const wake = (deps: RingDeps, leaders: readonly WokenLeader[]): Promise<void> =>
  leaders.length === 0
    ? Promise.resolve()
    : awaitBriefly(deps, wakeLeaderWorkflows(deps.temporal, deps.prefix, leaders), 'a wake failed');

/**
 * Whoever makes work for others waits for their wakes so long: a turn, a settlement. Then they go
 * on behind it.
 */
const AWAITED_MS = 1_000;

/** Waits for a wake, within reason; one that fails is logged, whenever it does. */
export const awaitBriefly = async (deps: RingDeps, wake: Promise<Error | null>, failed: string): Promise<void> => {
  const logged = wake.then((failure) => {
    if (failure !== null) deps.log.warn({ err: failure }, `${failed}; the sweeper will repeat it`);
  });
  await briefly(logged, AWAITED_MS);
};
