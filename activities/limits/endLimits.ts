import type { Logger } from 'pino';
import { changeLimits, expired } from './change';
import { changeSharedLimit, dueUnderSharedLimit } from './changeShared';
import { dueUnderLimits } from './wakes';
import { wake } from '../grouping/ring';
import { ringLanes } from '../lanes/ring';
import { markReady } from '../../postgres/lanes/lane';
import { findExpiredLimits } from '../../postgres/limits/overrides';
import { findExpiredSharedLimits } from '../../postgres/limits/sharedSettings';
import type { Pool } from '../../postgres/pool';
import type { Requests } from '../../workflows/temporal/requests';

/** Most handlers and targets per round. */
const MOST = 100;

/** Removes limits whose time has passed: what is defined counts again. */
export const endLimits = async (deps: {
  pool: Pool;
  requests: Requests;
  prefix: string;
  log: Pick<Logger, 'info' | 'warn'>;
}): Promise<void> => {
  for (const { handlerId, handler, targetId, target } of await findExpiredLimits(deps.pool, MOST)) {
    const done = await changeLimits(deps.pool, { handlerId, targetId }, expired);
    if (done === null) continue;
    deps.log.info({ handler, target, changed: done.changed }, 'limits that were set have ended by themselves');
    const { leaders, laneIds } = await dueUnderLimits(deps.pool, handler, target);
    await wake(deps, leaders);
    await markReady(deps.pool, laneIds);
    await ringLanes(deps, laneIds);
  }
  for (const name of await findExpiredSharedLimits(deps.pool, MOST)) {
    const done = await changeSharedLimit(deps.pool, name, (overrides) => overrides);
    if (done === null) continue;
    deps.log.info({ sharedLimit: name, changed: done.changed }, 'a shared limit that was set has ended by itself');
    await wake(deps, await dueUnderSharedLimit(deps.pool, name));
  }
};
