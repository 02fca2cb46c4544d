import type { CarriedBatch } from '../postgres/calls/batch';
import type { Sealer } from '../handlers/codec/sealer';
import type { Pool } from '../postgres/pool';
import type { Home } from './calls/call';
import { QueueHome } from './calls/queueHome';
import { LaneHome } from './lanes/home';
import type { Homes } from './shared';

/** Builds both homes; what is written through one of them shares statements. */
export const createHomes = (pool: Pool, sealer: Sealer | null): Homes => ({
  queue: new QueueHome(pool, undefined, sealer),
  lane: new LaneHome(pool, sealer),
});

/** Returns the home of a batch. */
export const homeOf = (homes: Homes, { inLane }: Pick<CarriedBatch, 'inLane'>): Home =>
  inLane ? homes.lane : homes.queue;
