import type { Handler } from '../../handlers/types';
import type { SimulateOptions } from './simulation/world';
import { World } from './simulation/world';

/**
 * Simulates one handler without servers: the planners, calls and settlements of the product on a
 * store in memory and a clock that only `advance` moves, so that a test of lingers, limits, retries
 * and back pressure takes less than a millisecond.
 *
 * A call of `submit` takes no time in the world, and calls are made one after the other; time
 * limits of calls count real time. Batches that a downstream accepts are polled, or completed by
 * `complete`. Lanes are granted and nodes get their partitions as in Muster. `expiresAt`, callbacks
 * and the cancellation of accepted batches are not simulated: `startMuster` runs them.
 */
export const simulate = <P, I = P>(handler: Handler<P, I>, options: SimulateOptions = {}): World<P, I> =>
  new World(handler, options);
