import { QueueHome } from '../../../activities/calls/queueHome';
import { LaneHome } from '../../../activities/lanes/home';
import type { OutcomesTold } from '../../../activities/outcomes/told';
import type { Pool } from '../../../postgres/pool';

/** Nothing reads the counters of a simulated store. */
const outcomes: OutcomesTold = {
  called: () => undefined,
  settled: () => undefined,
  failedUnsent: () => undefined,
  superseded: () => undefined,
};

/** Builds the product's homes for a simulated store. */
export const simulatedHomes = (pool: Pool, random: () => number): { queue: QueueHome; lane: LaneHome } => ({
  queue: new QueueHome(pool, { outcomes }, random),
  lane: new LaneHome(pool, { outcomes }),
});
