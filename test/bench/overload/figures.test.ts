import type { Observed } from './figures';
import { costOfBurst, figuresOf } from './figures';

/** What the overload bench makes of what it saw. */

const evenly = (n: number, everyMs: number, from = 0) =>
  Array.from({ length: n }, (_, i) => ({ id: `${i}`, at: from + i * everyMs }));
const seen: Observed = {
  perSecond: 10,
  items: 50,
  from: 0,
  to: 10_000,
  applied: evenly(4_750, 2),
  besideBefore: [10, 20, 30],
  besideWithin: [10, 20, 300],
  besideKill: [10, 9_000],
  memoryMb: [50, 50, 100, 100, 110, 110, 200, 200],
};

test('goodput is what was applied of what could be; what came twice is doubled', () => {
  expect(figuresOf(seen)).toMatchObject({ goodput: 0.95, doubled: 0, memoryGrowth: 2 });
  expect(figuresOf({ ...seen, applied: [...seen.applied, { id: '7', at: 5 }] }).doubled).toBe(1);
  expect(figuresOf({ ...seen, from: 5_000, to: 15_000 }).goodput).toBe(0.45);
  expect(figuresOf(seen).beside).toEqual({ p50Ms: [20, 20], p99Ms: [30, 300], longestAroundKillMs: 9_000 });
});

test('a burst costs what is missing after it', () => {
  const before = { from: 0, to: 10_000 };
  const whole = [...evenly(1_000, 10), ...evenly(1_000, 10, 10_400)];
  expect(costOfBurst(whole, { endedAt: 10_400, before, ms: 10_000 })).toBe(0);
  const half = [...evenly(1_000, 10), ...evenly(500, 20, 10_400)];
  expect(costOfBurst(half, { endedAt: 10_400, before, ms: 10_000 })).toBe(0.5);
});
