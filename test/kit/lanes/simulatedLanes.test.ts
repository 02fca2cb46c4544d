import fc from 'fast-check';
import { rounds } from '../../helpers/long';
import { laneScenario } from './scenario';
import type { LaneStory } from './scenario';
import { simulatedLanes } from './simulated';
import { replayedLanes } from './story';

/** What simulated lanes do, each scenario played on the store, too. @slow */

/** The long form takes seconds per scenario. */
const LONG_MS = 900_000;

/** Batches of one instant, in an order that does not depend on which settlement came first. */
const inOrder = ({ batches, ...rest }: LaneStory): LaneStory => {
  const placeOf = ({ target, tasks, reason }: LaneStory['batches'][number]): string =>
    [target, reason, ...tasks].join();
  return { ...rest, batches: batches.toSorted((a, b) => a.atMs - b.atMs || (placeOf(a) < placeOf(b) ? -1 : 1)) };
};

test(
  'simulated lanes are granted as those of the real store: the same calls in the same order, the same ends',
  async () => {
    const seed = Number(process.env['MUSTER_TEST_SEED'] ?? 7);
    await fc.assert(
      fc.asyncProperty(laneScenario, async (one) => {
        expect(inOrder(await simulatedLanes(one))).toEqual(inOrder(await replayedLanes(one)));
      }),
      { seed, numRuns: rounds(12, 250), endOnFailure: true },
    );
  },
  LONG_MS,
);
