import fc from 'fast-check';
import { planGrants } from '../../../workflows/planning/lanes/grants';
import { ROUND, strategyOf } from '../../../workflows/planning/lanes/strategies';
import type { Lane } from '../../../workflows/planning/lanes/types';
import { TurnQueue } from '../../../workflows/planning/lanes/turnQueue';
import { buildBatch, buildLane, buildState, idsOf } from './builders';

/** The accounting of single turns; test/planning/lanes/fairness.test.ts has what comes of many. */

describe('single', () => {
  const lane = (id: number, batch: number, sequence: number, part: number): Lane =>
    buildLane({ id, open: [buildBatch({ id: batch, sequence, part })] });
  const order = (...lanes: Lane[]): number[] => idsOf(planGrants(buildState({ strategy: 'single', lanes }), 9));

  test('by sequence, then by part, then by lane', () => {
    expect(order(lane(1, 10, 7, 0), lane(2, 20, 5, 1), lane(3, 30, 5, 0))).toEqual([30, 20, 10]);
    expect(order(lane(2, 20, 5, 0), lane(1, 10, 5, 0))).toEqual([10, 20]);
  });
});

describe('per service', () => {
  const { enter, charge } = strategyOf('per-service');

  test('a lane that sat out a round begins anew, with the credit of one', () => {
    expect(enter({ weight: 5, deficit: 3, served: 0 }, ROUND)).toEqual({ served: ROUND + 1, deficit: 5 });
    expect(enter({ weight: 5, deficit: 3, served: 1 }, ROUND)).toEqual({ served: 1, deficit: 3 });
  });
  test('a lane with credit goes on in its turn; one without begins the next, with credit for a batch', () => {
    expect(enter({ weight: 2, deficit: 3, served: 5 }, 10)).toEqual({ served: 5, deficit: 2 });
    expect(enter({ weight: 2, deficit: 0, served: 5 }, 10)).toEqual({ served: 11, deficit: 2 });
    expect(enter({ weight: 2, deficit: -9, served: 50 }, 10)).toEqual({ served: 50, deficit: 1 });
  });
  test('a batch is paid by credit; the last of it ends the turn, and what is overdrawn costs rounds', () => {
    expect(charge({ weight: 2, deficit: 3, served: 7 }, 2)).toEqual({ served: 7, deficit: 1 });
    expect(charge({ weight: 2, deficit: 2, served: 7 }, 2)).toEqual({ served: 7 + ROUND, deficit: 0 });
    expect(charge({ weight: 2, deficit: 1, served: 7 }, 6)).toEqual({ served: 7 + 3 * ROUND, deficit: -1 });
  });
});

test('a queue of turns gives the first one, whatever the order in which they came', () => {
  const { compare } = strategyOf('one-round');
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(99), { maxLength: 40 }), (places) => {
      const queue = new TurnQueue<number>(compare);
      for (const due of places) queue.add({ laneId: due, due, sequence: 0, part: 0 }, due);
      expect(places.map(() => queue.take()!.item)).toEqual(places.toSorted((a, b) => a - b));
      expect(queue.take()).toBeNull();
    }),
  );
});
