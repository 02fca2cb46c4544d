import fc from 'fast-check';
import { backoffMs, IN_PLACE_BELOW_MS, inPlaceMs, withFullJitter } from '../../workflows/planning/calls/retry';

const policy = { baseMs: 500, maxMs: 30_000 };

describe('backoffMs (A16)', () => {
  test.each([
    [1, 500],
    [2, 1_000],
    [6, 16_000],
    [7, 30_000],
    [1e9, 30_000],
    [0, 500],
    [-3, 500],
  ])('attempt %d waits %d ms', (attempt, ms) => {
    expect(backoffMs(policy, attempt)).toBe(ms);
  });

  test('a base of 0 stays 0, however often it is doubled', () => {
    expect(backoffMs({ baseMs: 0, maxMs: 30_000 }, 5_000)).toBe(0);
  });

  test('never falls and never passes the maximum', () => {
    fc.assert(
      fc.property(fc.nat(1e6), fc.nat(1e9), fc.nat(5_000), (baseMs, maxMs, attempt) => {
        const now = backoffMs({ baseMs, maxMs }, attempt);
        expect(now).toBeLessThanOrEqual(maxMs);
        expect(backoffMs({ baseMs, maxMs }, attempt + 1)).toBeGreaterThanOrEqual(now);
      }),
    );
  });
});

describe('withFullJitter (H5)', () => {
  test('spans 1 to ms in whole milliseconds', () => {
    expect([0, 0.25, 0.5, 0.999_999].map((random) => withFullJitter(1_000, () => random))).toEqual([
      1, 250, 500, 1_000,
    ]);
    expect(withFullJitter(0, () => 0.9)).toBe(1);
    fc.assert(
      fc.property(fc.nat(1e6), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (ms, random) => {
        const jittered = withFullJitter(ms, () => random);
        expect(Number.isInteger(jittered)).toBe(true);
        expect(jittered).toBeGreaterThanOrEqual(1);
        expect(jittered).toBeLessThanOrEqual(Math.max(1, ms));
      }),
    );
  });
});

describe('inPlaceMs (A16)', () => {
  test('few and short: null after the last repeat, or where a slot would be held too long', () => {
    expect([1, 2, 3, 4].map((repeat) => inPlaceMs({ times: 3, baseMs: 200 }, repeat))).toEqual([200, 400, 800, null]);
    expect([1, 2].map((repeat) => inPlaceMs({ times: 9, baseMs: 1_000 }, repeat))).toEqual([1_000, null]);
    expect(inPlaceMs({ times: 0, baseMs: 200 }, 1)).toBeNull();
    expect(inPlaceMs({ times: 1, baseMs: IN_PLACE_BELOW_MS }, 1)).toBeNull();
  });
});
