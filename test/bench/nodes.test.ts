import { movesOf, planOf } from './measures/nodesMeasures';

/** `bench:nodes` in small. The long form: `npm run bench:nodes`. @slow */

test('2,000 partitions on 200 nodes are planned in less than a second, by count and by weight', () => {
  for (const by of ['count', 'weight'] as const) {
    const { firstMs, settledMs, joinMs, leaveMs, doubleMs } = planOf(2_000, 200, by);
    for (const ms of [firstMs, settledMs, joinMs, leaveMs, doubleMs]) expect(ms).toBeLessThan(1_000);
  }
});

test('no scan of all by all: ten times the partitions and nodes take little more processor time than ten times the work', () => {
  // Processor time: other tests run beside this one.
  const timeOf = (partitions: number, nodes: number, times: number): number => {
    const before = process.cpuUsage();
    for (let i = 0; i < times; i++) planOf(partitions, nodes, 'count', 5);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  timeOf(2_000, 40, 3);
  expect(timeOf(20_000, 400, 1)).toBeLessThan(5 * timeOf(2_000, 40, 10));
});

test('moves per join and leave against the theoretical minimum: ratio 1.00', () => {
  for (const event of ['join', 'leave'] as const) {
    const { moves, fewest, ratio, rounds } = movesOf(200, 20, event, 10);
    expect({ event, moves, ratio }).toEqual({ event, moves: fewest, ratio: 1 });
    expect(rounds).toBeLessThanOrEqual(4);
    if (event === 'join') expect(fewest).toBeGreaterThan(60);
  }
});
