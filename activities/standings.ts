import type { CarriedBatch } from '../postgres/calls/batch';
import type { Pool } from '../postgres/pool';
import type { Standing } from './calls/call';
import { QueueStanding } from './calls/queueStanding';
import { LaneStanding } from './lanes/standing';
import type { Standings } from './shared';

/** Builds both kinds of batches; what is written through one of them shares statements. */
export const createStandings = (pool: Pool): Standings => ({
  queue: new QueueStanding(pool),
  lane: new LaneStanding(pool),
});

/** Returns the kind of a batch. */
export const standingOf = (standings: Standings, { inLane }: Pick<CarriedBatch, 'inLane'>): Standing =>
  inLane ? standings.lane : standings.queue;
