import type { CarriedBatch } from '../postgres/calls/batch';
import type { Pool } from '../postgres/pool';
import type { Home, HomeDeps } from './calls/call';
import { QueueHome } from './calls/queueHome';
import { LaneHome } from './lanes/home';
import type { Homes } from './shared';

/** Builds both homes; what is written through one of them shares statements. */
export const createHomes = (pool: Pool, deps: HomeDeps = {}): Homes => ({
  queue: new QueueHome(pool, deps),
  lane: new LaneHome(pool, deps),
});

/** Returns the home of a batch. */
export const homeOf = (homes: Homes, { inLane }: Pick<CarriedBatch, 'inLane'>): Home =>
  inLane ? homes.lane : homes.queue;
