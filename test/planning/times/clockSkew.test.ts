import { isSkewed, SKEW_MS, skewOf } from '../../../workflows/planning/clockSkew';

/** The store read its clock between two readings of this process's. */

test.each([
  ['at the first', 100, 0],
  ['at the second', 150, 0],
  ['between', 120, 0],
  ['1 ms before', 99, 1],
  ['1 ms after', 151, 1],
  ['long before', -900, 1_000],
  ['long after', 3_150, 3_000],
])('a store that answers %s of 100 and 150: %d ms are off by %d', (_, storeMs, ms) => {
  expect(skewOf(storeMs, 100, 150)).toBe(ms);
});

test('a fault is what a reader of two logs would notice', () => {
  expect([2_000, 2_001].map(isSkewed)).toEqual([false, true]);
  expect(SKEW_MS).toBe(2_000);
});
