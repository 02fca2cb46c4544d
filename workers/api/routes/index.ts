import type { Route } from '../route';
import { batchRoutes } from './batches';
import { bulkRoutes } from './bulk';
import { callbackRoutes } from './callbacks';
import type { Site } from './dashboard';
import { dashboardRoutes } from './dashboard';
import { errorRoutes } from './errors';
import { executionRoutes } from './executions';
import { fanoutRoutes } from './fanouts';
import { handlerRoutes } from './handlers';
import { laneRoutes } from './lanes';
import { limitRoutes } from './limits';
import { sharedLimitRoutes } from './sharedLimits';
import { nodeRoutes } from './nodes';
import { outcomeRoutes } from './outcomes';
import type { SystemParts } from './system';
import { systemRoutes } from './system';
import { targetRoutes } from './targets';
import { taskRoutes } from './tasks';

/** Returns every route: nothing else is served. */
export const allRoutes = (parts: SystemParts & { site?: Site }): Route[] => [
  ...taskRoutes,
  ...handlerRoutes,
  ...targetRoutes,
  ...batchRoutes,
  ...bulkRoutes,
  ...callbackRoutes,
  ...errorRoutes,
  ...outcomeRoutes,
  ...limitRoutes,
  ...sharedLimitRoutes,
  ...laneRoutes,
  ...fanoutRoutes,
  ...executionRoutes,
  ...nodeRoutes,
  ...dashboardRoutes(parts.site ?? null),
  ...systemRoutes(parts),
];
