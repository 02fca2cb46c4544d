import type { CountedEnd } from '../../../workflows/planning/outcomes/kinds';
import { ENDS } from '../../../workflows/planning/outcomes/kinds';
import { ratesAt } from '../../../workflows/planning/outcomes/rates';

const AT = Date.parse('2030-01-31T12:00:15.000Z');
const minute = (text: string, n: number) => ({
  minute: `2030-01-31T${text}:00.000Z`,
  calls: { results: n, later: n },
  ends: Object.fromEntries(ENDS.map((end, i) => [end, i === 0 ? 10 * n : 0])) as Record<CountedEnd, number>,
  latency: [0, 2 * n],
  tasks: 20 * n,
});

test('this minute counts whole, the last one as far as it makes a minute, older ones not at all', () => {
  const rates = ratesAt(AT, [minute('12:00', 60), minute('11:59', 80), minute('11:58', 1_000)]);
  // 60 + 3/4 of 80 are 120, of each of two kinds of calls.
  expect(rates).toMatchObject({ callsPerS: 4, endsPerMin: { succeeded: 1_200, failed: 0 }, tasksPerCall: 10 });
  expect(rates.p50Ms).toBe(12.5);
  expect(rates.p99Ms).toBeCloseTo(19.85);
});

test('without calls there is no latency', () => {
  expect(ratesAt(AT, [])).toMatchObject({ callsPerS: 0, p50Ms: null, p99Ms: null, tasksPerCall: null });
});
