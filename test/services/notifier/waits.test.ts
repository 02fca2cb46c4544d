import { deliveryWaitMs, untriedWaitMs } from '../../../activities/callbacks/notify';

test('the waits between deliveries double from 2 s to an hour and end after 24 h', () => {
  expect([1, 2, 3, 11, 12, 13].map(deliveryWaitMs)).toEqual([2_000, 4_000, 8_000, 2_048_000, 3_600_000, 3_600_000]);
  const waits: number[] = [];
  for (let attempts = 1; ; attempts++) {
    const wait = deliveryWaitMs(attempts);
    if (wait === null) break;
    waits.push(wait);
  }
  const sum = waits.reduce((a, b) => a + b, 0);
  expect(sum).toBeGreaterThanOrEqual(24 * 3_600_000);
  expect(sum - waits.at(-1)!).toBeLessThan(24 * 3_600_000);
});

test('messages that are put back untried are due again in turn: from 2 s on, 50 in a second, within 5 minutes', () => {
  expect([0, 1, 50, 14_900, 14_901, 1_000_000].map(untriedWaitMs)).toEqual([
    2_000, 2_020, 3_000, 300_000, 300_000, 300_000,
  ]);
});
