import { isOldTransaction } from '../../../workflows/planning/oldTransaction';
import { paced } from '../../../workflows/planning/pace';

/** A rate with a burst, and when a transaction is forgotten. */

const RATE = { perSecond: 10, burst: 3 };

test('so many go at once after a pause, the others one after the other', () => {
  const waits: number[] = [];
  let paceMs = 0;
  for (let i = 0; i < 5; i++) {
    const next = paced(paceMs, 1_000, RATE);
    waits.push(next.waitMs);
    ({ paceMs } = next);
  }
  expect(waits).toEqual([0, 0, 0, 100, 200]);
  expect(paceMs).toBe(1_500);
  expect(paced(paceMs, 1_450, RATE)).toEqual({ waitMs: 0, paceMs: 1_600 });
  expect(paced(paceMs, 9_000, RATE)).toEqual({ waitMs: 0, paceMs: 9_100 });
});

test('what rounding left is no wait, what is longer is one', () => {
  expect(paced(1_200.0009, 1_000, RATE).waitMs).toBe(0);
  expect(paced(1_200.5, 1_000, RATE).waitMs).toBeCloseTo(0.5);
  expect(paced(1_000, 1_000, { perSecond: 10, burst: 1 }).waitMs).toBe(0);
  expect(paced(1_001, 1_000, { perSecond: 10, burst: 1 }).waitMs).toBe(1);
});

test.each<[seconds: number | null, transactions: number, boolean]>([
  [3_600, 0, true],
  [3_599, 9_999_999, false],
  [null, 1_000_000, true],
  [null, 999_999, false],
  [0, 1_000_000, false],
])('open for %j s, with %d begun since: forgotten %j', (seconds, transactions, expected) => {
  expect(isOldTransaction(seconds, transactions)).toBe(expected);
});
