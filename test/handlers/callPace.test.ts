import { CallPace } from '../../activities/calls/pace';
import type { CallCost } from '../../activities/shared';

const one: CallCost = { calls: 1, items: 1, weight: 1 };
const clock = (): number => performance.now();
const never = (): boolean => false;

/** Starts so many calls at once; answers when each began. */
const starts = async (
  pace: CallPace,
  n: number,
  cost: (i: number) => CallCost = () => one,
  target = (_: number) => 1,
) => {
  const at: { at: number; cost: CallCost; target: number }[] = [];
  await Promise.all(
    Array.from({ length: n }, async (_, i) => {
      let counted = 0; // the instant that it was counted at
      if (await pace.turn(target(i), cost(i), () => (counted = clock()), never))
        at.push({ at: counted, cost: cost(i), target: target(i) });
    }),
  );
  return at.sort((a, b) => a.at - b.at);
};

test('however many come at once, no window of perMs sees more than the limit [G1]', async () => {
  const at = await starts(new CallPace([{ limit: 10, perMs: 200, unit: 'calls', scope: 'handler' }]), 35);
  expect(at).toHaveLength(35);
  for (const [i, start] of at.slice(10).entries()) expect(start.at - at[i]!.at).toBeGreaterThanOrEqual(200 - 1e-6);
});

test('a call that starts late pushes those that come a window after it, and no others [G1]', async () => {
  const pace = new CallPace([{ limit: 3, perMs: 300, unit: 'calls', scope: 'handler' }]);
  let now = 0;
  const turn = (at: number): Promise<boolean> => {
    now = at;
    return pace.turn(
      1,
      one,
      () => now,
      () => true,
    );
  };
  // Planned at 0, 100, 200, 300, ...; the first began 90 late, as a stopped process does.
  expect(await turn(90)).toBe(true);
  expect(await turn(100)).toBe(true);
  expect(await turn(200)).toBe(true);
  expect(await turn(300)).toBe(false);
  expect(await turn(389)).toBe(false);
  expect(await turn(390)).toBe(true);
  expect(await turn(400)).toBe(true);
});

test('by items and weight: less than the limit before the last call; by target: each for itself [G1]', async () => {
  const byItems = await starts(new CallPace([{ limit: 5, perMs: 150, unit: 'items', scope: 'handler' }]), 12, (i) => ({
    ...one,
    items: 1 + (i % 4),
  }));
  const byWeight = await starts(
    new CallPace([{ limit: 0.5, perMs: 100, unit: 'weight', scope: 'handler' }]),
    8,
    () => ({ ...one, weight: 0.2 }),
  );
  for (const [all, unit, limit, perMs] of [
    [byItems, 'items', 5, 150],
    [byWeight, 'weight', 0.5, 100],
  ] as const)
    for (const [i, last] of all.entries()) {
      const before = all.slice(0, i).filter(({ at }) => last.at - at < perMs - 1e-6);
      expect(before.reduce((sum, { cost }) => sum + cost[unit], 0)).toBeLessThan(limit);
    }
  const begun = clock();
  const each = await starts(
    new CallPace([{ limit: 2, perMs: 60_000, unit: 'calls', scope: 'target' }]),
    20,
    () => one,
    (i) => i % 10,
  );
  expect(each).toHaveLength(20);
  expect(clock() - begun).toBeLessThan(30_000);
});

test('one that gives up counts nothing', async () => {
  const pace = new CallPace([{ limit: 1, perMs: 100, unit: 'calls', scope: 'handler' }]);
  expect(await pace.turn(1, one, () => 0, never)).toBe(true);
  expect(
    await pace.turn(
      1,
      one,
      () => 50,
      () => true,
    ),
  ).toBe(false);
  expect(await pace.turn(1, one, () => 100, never)).toBe(true);
});
