import type { World } from '../../../liveness/world';
import type { PlannedFault } from '../plan';

/** What a fault is given; the chance in it comes from the run's seed. */
export interface Strike extends PlannedFault {
  world: World;
  random: () => number;
}
/** Resolves when it is over, with how many processes, sessions or runs it struck. */
export type Fault = (strike: Strike) => Promise<number>;
