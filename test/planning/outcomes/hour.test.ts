import { HOUR_MINUTES, hourOf } from '../../../workflows/planning/outcomes/hour';
import { CALL_OUTCOMES, countsOf, ENDS, LATENCY_MS, SIZES, SLOW_MS } from '../../../workflows/planning/outcomes/kinds';

/** Ends of tasks by minute, and the names under which calls and ends are counted. */

const AT = Date.parse('2030-01-31T12:30:59.999Z');
const ends = { succeeded: 1, failed: 2, dead: 4, cancelled: 8, unknown: 16, retried: 32 };
const minute = (time: string) => ({ minute: `2030-01-31T${time}:00Z`, ends });

test('an hour ends with the minute of its time; what lies outside is left out', () => {
  const hour = hourOf(AT, ['12:30', '12:29', '11:31', '11:30', '12:31'].map(minute));
  expect(HOUR_MINUTES).toBe(60);
  const at = (places: readonly number[], n: number): number[] =>
    Array.from({ length: 60 }, (_, place) => (places.includes(place) ? n : 0));
  expect(hour).toEqual({ succeeded: at([59, 58, 0], 1), failed: at([59, 58, 0], 22) });
});

test('ends of one minute add up', () => {
  expect(hourOf(AT, [minute('12:30'), minute('12:30')]).failed[59]).toBe(44);
});

/** Counts are stored by place: a name or bound that moves is another in the stores that exist. */
test('names and bounds in the order in which they are stored', () => {
  expect(CALL_OUTCOMES).toEqual(['results', 'accepted', 'later', 'rejected', 'halted', 'unknown', 'look-again']);
  expect(ENDS).toEqual(['succeeded', 'failed', 'dead', 'cancelled', 'unknown', 'retried']);
  expect(countsOf(ENDS, new Map([['dead', 3] as const, ['succeeded', 2] as const]))).toEqual([2, 0, 3, 0, 0, 0]);
  expect(LATENCY_MS).toEqual([5, 20, 50, 100, 250, 500, 1e3, 2_500, 5e3, 1e4, 3e4, 6e4, 3e5]);
  expect(SIZES).toEqual([1, 2, 5, 10, 25, 50, 100, 250, 500, 1e3, 5e3, 1e4]);
  expect(SLOW_MS).toBe(20_000);
});
