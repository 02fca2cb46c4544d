import { SharedCompletionRings } from './accepted/completionRings';
import type { Sealer } from '../handlers/codec/sealer';
import { CallPaces } from './calls/pace';
import { Preparer, QUEUE_MARKING } from './calls/preparer';
import type { ActivityDeps } from './deps';
import { LaneGranters } from './lanes/granter';
import type { GranterDeps } from './lanes/granter';
import { LANE_MARKING } from './lanes/marking';
import type { Shared } from './shared';
import { createHomes } from './homes';
import { ModuleProcesses } from './executions/executors';

/** Builds what all work of one process shares; once per process, beside its pool. */
export const createShared = (
  deps: GranterDeps & Pick<ActivityDeps, 'pool' | 'node' | 'hooks' | 'outcomes'> & { sealer?: Sealer | null },
): Shared => ({
  paces: new CallPaces(),
  marks: new Preparer(deps, QUEUE_MARKING),
  laneMarks: new Preparer(deps, LANE_MARKING),
  granters: new LaneGranters(deps),
  homes: createHomes(deps.pool, deps),
  completionRings: new SharedCompletionRings(deps),
  modules: new ModuleProcesses(),
});
