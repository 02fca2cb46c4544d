import type { CarriedBatch } from '../postgres/calls/batch';
import type { Pool } from '../postgres/pool';
import type { Home } from './calls/call';
import { QueueHome } from './calls/queueHome';
import type { EndsTold } from './hooks/endsTold';
import { LaneHome } from './lanes/home';
import type { Outcomes } from './outcomes/outcomes';
import type { Homes } from './shared';

/** Builds both homes; what is written through one of them shares statements. */
export const createHomes = (pool: Pool, told: { hooks?: EndsTold; outcomes?: Outcomes } = {}): Homes => ({
  queue: new QueueHome(pool, told.hooks, told.outcomes),
  lane: new LaneHome(pool, told.hooks, told.outcomes),
});

/** Returns the home of a batch. */
export const homeOf = (homes: Homes, { inLane }: Pick<CarriedBatch, 'inLane'>): Home =>
  inLane ? homes.lane : homes.queue;
