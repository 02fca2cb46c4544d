import fc from 'fast-check';
import { addCounts, bucketOf, quantile } from '../../../workflows/planning/outcomes/histogram';

const BOUNDS = [10, 20, 50];

test.each([
  [0, 0],
  [10, 0],
  [10.5, 1],
  [50, 2],
  [51, 3],
])('%d is in bucket %d', (value, bucket) => {
  expect(bucketOf(BOUNDS, value)).toBe(bucket);
});

test.each([
  ['of nothing', [0, 0, 0, 0], 0.5, null],
  ['within the first bucket', [4, 0, 0, 0], 0.5, 5],
  ['at the end of a bucket', [2, 2, 0, 0], 0.5, 10],
  ['within a later bucket', [0, 0, 10, 0], 0.5, 35],
  ['above the last bound', [0, 0, 0, 3], 0.5, 50],
  ['of the least', [0, 2, 0, 0], 0, 10],
  ['of all', [1, 1, 1, 0], 1, 50],
  ['with fewer buckets than bounds', [1], 0.5, 5],
] as const)('the quantile %s', (_, counts, share, expected) => {
  expect(quantile(BOUNDS, counts, share)).toBe(expected);
});

test('a quantile is in the bucket of the value that it stands for', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1 }),
      fc.constantFrom(0.5, 0.99),
      (all, share) => {
        const counts = all.reduce(
          (sum, value) =>
            addCounts(
              sum,
              Array.from({ length: 4 }, (__, i) => (i === bucketOf(BOUNDS, value) ? 1 : 0)),
            ),
          [] as number[],
        );
        const exact = all.toSorted((a, b) => a - b)[Math.ceil(share * all.length) - 1]!;
        expect(bucketOf(BOUNDS, quantile(BOUNDS, counts, share)!)).toBe(bucketOf(BOUNDS, exact));
      },
    ),
  );
});

test('lists of counts are added, the shorter one as if it ended with zeros', () => {
  expect(addCounts([1, 2], [1])).toEqual([2, 2]);
  expect(addCounts([], [1, 0, 3])).toEqual([1, 0, 3]);
});
