import fc from 'fast-check';
import { recoveredAfter } from './recovery';

/** `count` times at `perS` per second, from `fromMs` on. */
const steady = (perS: number, count: number, fromMs = 0): number[] =>
  Array.from({ length: count }, (_, i) => fromMs + (i * 1_000) / perS);

test('work at the rate of arrivals has recovered at once', () => {
  expect(recoveredAfter(steady(40, 1_000), 40, 1_000, 20_000)).toBe(0);
});

test('work that goes on later has recovered then', () => {
  const effects = [...steady(40, 40), ...steady(40, 400, 9_000)];
  expect(recoveredAfter(effects, 40, 1_000, 20_000)).toBeGreaterThan(7_000);
  expect(recoveredAfter(effects, 40, 1_000, 20_000)).toBeLessThanOrEqual(8_001);
});

test('work below 90 % of the arrivals has not recovered', () => {
  expect(recoveredAfter(steady(35, 1_000), 40, 0, 25_000)).toBeNull();
  expect(recoveredAfter(steady(36, 1_000), 40, 0, 25_000)).not.toBeNull();
});

test('nothing has recovered before a whole window has passed, or where nothing moves', () => {
  expect(recoveredAfter(steady(40, 1_000), 40, 1_000, 5_999)).toBeNull();
  expect(recoveredAfter([], 40, 0, 60_000)).toBeNull();
});

test('finds the first window that has enough, wherever it begins', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }), (times) => {
      const effects = times.sort((a, b) => a - b);
      const windows = [0, ...effects.map((one) => one + 1)].filter((begin) => begin + 5_000 <= 20_000);
      const enough = windows.find((begin) => effects.filter((one) => one >= begin && one < begin + 5_000).length >= 9);
      expect(recoveredAfter(effects, 2, 0, 20_000)).toBe(enough ?? null);
    }),
  );
});
