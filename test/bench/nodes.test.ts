import { movesOf, planOf } from './measures/nodesMeasures';

/** `bench:nodes` in small. The long form: `npm run bench:nodes`. */

test('2,000 partitions on 200 nodes are planned in less than a second, by count and by weight', () => {
  for (const by of ['count', 'weight'] as const) {
    const { firstMs, settledMs, joinMs, leaveMs, doubleMs } = planOf(2_000, 200, by);
    for (const ms of [firstMs, settledMs, joinMs, leaveMs, doubleMs]) expect(ms).toBeLessThan(1_000);
  }
});

test('no scan of all by all: ten times the partitions and nodes do not take a hundred times as long', () => {
  // Hundred times is what a quadratic plan would take; a linear one is far from both.
  const [small, large] = [planOf(2_000, 40, 'count', 5), planOf(20_000, 400, 'count', 5)];
  const total = ({ firstMs, joinMs, leaveMs }: typeof small): number => firstMs + joinMs + leaveMs;
  expect(total(large)).toBeLessThan(60 * Math.max(total(small), 5));
});

test('moves per join and leave against the theoretical minimum: ratio 1.00', () => {
  for (const event of ['join', 'leave'] as const) {
    const { moves, fewest, ratio, rounds } = movesOf(200, 20, event, 10);
    expect({ event, moves, ratio }).toEqual({ event, moves: fewest, ratio: 1 });
    expect(rounds).toBeLessThanOrEqual(4);
    if (event === 'join') expect(fewest).toBeGreaterThan(60);
  }
});
