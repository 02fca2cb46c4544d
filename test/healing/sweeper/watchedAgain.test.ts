import { OwnStops } from '../../../workers/ownStops';

/** What a process knows of its own stops that asks at each look, by a clock that the test moves. */

let nowMs = 0;
beforeEach(() => {
  nowMs = 10_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => void jest.restoreAllMocks());

/** Watches, stands still for so long, and says whether it noticed. */
const noticed = (stops: OwnStops, ms: number): boolean => {
  const before = nowMs;
  stops.watch();
  nowMs += ms;
  stops.watch(); // the next look
  return stops.wasStoppedSince(before);
};

test('a look that begins to watch again hides no stop before it', () => {
  expect(noticed(new OwnStops(), 3_001)).toBe(true);
  expect(noticed(new OwnStops(), 3_000)).toBe(false); // a late tick
});

test('times that are each too short for a stop are none together', () => {
  const stops = new OwnStops();
  const before = nowMs;
  expect([noticed(stops, 2_900), noticed(stops, 2_900), noticed(stops, 2_900)]).toEqual([false, false, false]);
  expect(stops.wasStoppedSince(before)).toBe(false);
});

test('a stop counts for what was seen before it, and for nothing that was seen after it', () => {
  const stops = new OwnStops();
  const before = nowMs;
  expect(noticed(stops, 60_000)).toBe(true);
  const after = nowMs;
  nowMs += 1_000;
  expect([stops.wasStoppedSince(before), stops.wasStoppedSince(after)]).toEqual([true, false]);
  expect(noticed(stops, 500)).toBe(false);
});
