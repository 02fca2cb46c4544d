import type { Logger } from 'pino';
import { releaseDependents } from '../../activities/grouping/dependents';
import { awaitBriefly, ring } from '../../activities/grouping/ring';
import { ringLanes } from '../../activities/lanes/ring';
import type { BulkContext } from '../../client/bulk/step';
import type { Sealer } from '../../handlers/codec/sealer';
import type { Contract } from '../../handlers/types';
import type { Pool } from '../../postgres/pool';
import type { Requests } from '../../workflows/temporal/requests';

/** What a worker changes tasks with, in place of an operator. */
export interface ChangingDeps {
  pool: Pool;
  requests: Requests;
  prefix: string;
  log: Logger;
  sealer?: Sealer | null;
  /** Whose payloads it can change; default: none. */
  handlers?: ReadonlyMap<string, Contract>;
}

/** Returns what the client's changes need, without a client. */
export const changing = (deps: ChangingDeps): BulkContext => ({
  pool: deps.pool,
  prefix: deps.prefix,
  sealer: deps.sealer ?? null,
  ring: (targetIds) => ring(deps, [...targetIds]),
  ringLaneIds: (laneIds) => ringLanes(deps, [...laneIds]),
  releaseDependents: () => releaseDependents(deps),
  wake: (send) => awaitBriefly(deps, send(deps.requests), 'a wake failed'),
});
