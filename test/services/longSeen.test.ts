import { LongSeen } from '../../workers/sweeper/longSeen';

/** What the sweeper acts on only when it stays: not a lease that was late once. */

test('is due when it was seen for long enough, then again after each interval', () => {
  const seen = new LongSeen(5_000, 30_000);
  const due = [0, 4_999, 5_000, 5_001, 34_999, 35_000].map((nowMs) => seen.see(['a'], nowMs).length);
  expect(due).toEqual([0, 0, 1, 0, 0, 1]);
});

test('what was not seen once begins anew', () => {
  const seen = new LongSeen(5_000, 30_000);
  seen.see(['a', 'b'], 0);
  expect(seen.see(['b'], 3_000)).toEqual([]);
  expect(seen.see(['a', 'b'], 6_000)).toEqual(['b']);
  expect(seen.see(['a'], 11_000)).toEqual(['a']);
});
