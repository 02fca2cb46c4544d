import { withRetries } from '../postgres/errors';
import { lowerDue, WAKE_LEASE_MS, wakeLeaders } from '../postgres/ring';
import type { WokenLeader } from '../postgres/ring';
import { wakeLeaderWorkflows } from '../workflows/wake';
import type { ActivityDeps } from './deps';

/** The part of a log that a ring needs. */
export interface RingLog {
  warn(fields: { err: Error }, message: string): void;
}
export type RingDeps = Pick<ActivityDeps, 'pool' | 'temporal' | 'prefix'> & { log: RingLog };

/** After a commit that made work eligible: R1, R2, each a statement of its own, then the wakes (store.md section 1). */
export const ring = async (deps: RingDeps, targetIds: readonly number[]): Promise<void> => {
  if (targetIds.length === 0) return;
  await withRetries(() => lowerDue(deps.pool, targetIds));
  await wake(deps, await withRetries(() => wakeLeaders(deps.pool, targetIds, WAKE_LEASE_MS)));
};

export const wake = async (deps: RingDeps, leaders: readonly WokenLeader[]): Promise<void> => {
  if (leaders.length === 0) return;
  const failure = await wakeLeaderWorkflows(deps.temporal, deps.prefix, leaders);
  if (failure !== null) deps.log.warn({ err: failure }, 'a wake failed; the sweeper will repeat it');
};
