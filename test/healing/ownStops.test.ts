import { OwnStops } from '../../workers/ownStops';

/**
 * A process notices that it stood still, by standing still.
 *
 * @slow
 */

/** Stands still like a process that is stopped: no timer fires meanwhile. */
const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('a process notices that it stood still, before any timer fires', () => {
  const stops = new OwnStops();
  stops.watch();
  const before = performance.now();
  expect(stops.wasStoppedSince(before)).toBe(false);
  standStill(1_500);
  expect(stops.wasStoppedSince(before)).toBe(false); // a late tick
  standStill(3_500);
  expect(stops.wasStoppedSince(before)).toBe(true);
  expect(stops.wasStoppedSince(performance.now())).toBe(false);
});

test('what it noticed stays, and the time since then is not a stop', async () => {
  const stops = new OwnStops();
  stops.watch();
  const before = performance.now();
  standStill(3_500);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const after = performance.now();
  stops.watch();
  expect(stops.wasStoppedSince(before)).toBe(true);
  expect(stops.wasStoppedSince(after)).toBe(false);
});
