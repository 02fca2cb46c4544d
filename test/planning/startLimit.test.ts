import fc from 'fast-check';
import { START_LIMIT_MS, startLimitMs } from '../../workflows/planning/startLimit';

test.each([
  [20_000, 0, 20_000],
  [20_000, 7_000, 20_000],
  [20_000, 20_500, 41_000],
  [20_000, 61_000, 60_000],
  [20_000, 3_600_000, 60_000],
  [10_000, 10_000, 20_000],
  [600_000, 0, 600_000],
  [600_000, 600_000, 600_000],
])('least %d ms, in vain for %d ms: waits %d ms', (leastMs, inVainMs, expected) => {
  expect(startLimitMs(leastMs, inVainMs)).toBe(expected);
});

test('however late Temporal begins dispatches, up to a minute: one of the first three is begun', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 59_999 }), (lateMs) => {
      let inVainMs = 0;
      let tries = 1;
      for (; startLimitMs(START_LIMIT_MS, inVainMs) <= lateMs; tries++)
        inVainMs += startLimitMs(START_LIMIT_MS, inVainMs);
      return tries <= 3;
    }),
  );
});
