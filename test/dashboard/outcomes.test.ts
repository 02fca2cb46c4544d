import { SIZES } from '../../workflows/planning/outcomes/kinds';
import { hourOf } from '../../workflows/planning/outcomes/hour';
import { ratesAt } from '../../workflows/planning/outcomes/rates';
import { bucketsOf, callsOf, figuresOf } from '../../workers/dashboard/model/outcomes';
import { minute, outcomesOf } from './planted';

/** What calls and tasks came to, in words and figures. */

const { outcomes } = outcomesOf('mail');

describe('batch sizes', () => {
  test.each<[string, number[], [string, number][]]>([
    ['no calls', [], []],
    ['none in any bucket', [0, 0, 0], []],
    ['single tasks', [3], [['1 task', 3]]],
    [
      'from the smallest to the largest, the empty between them too',
      [0, 5, 0, 7, 0, 0],
      [
        ['2 tasks', 5],
        ['3 to 5 tasks', 0],
        ['6 to 10 tasks', 7],
      ],
    ],
    ['above the last bound', [...Array<number>(SIZES.length).fill(0), 2], [['over 10,000 tasks', 2]]],
  ])('%s', (_, sizes, buckets) => {
    expect(bucketsOf(sizes).map(({ label, calls }) => [label, calls])).toEqual(buckets);
  });
});

test('minutes are added: calls, why batches were closed, and sizes', () => {
  const { text, reasons, sizes, p99Ms } = callsOf(outcomes);
  expect([text, reasons]).toEqual(['100 calls: 98 results, 2 later', '100 batches: 39 size, 61 linger']);
  expect([sizes[0], sizes.at(-1), sizes.length]).toEqual([
    { label: '1 task', calls: 60 },
    { label: '101 to 250 tasks', calls: 2 },
    8,
  ]);
  expect(p99Ms).toBeGreaterThan(10_000);
  expect(callsOf([])).toEqual({ p50Ms: null, p99Ms: null, text: 'none', reasons: 'none', sizes: [] });
});

test('figures are of about the last minute', () => {
  const at = Date.parse(minute) + 30_000;
  expect([outcomes, outcomes.slice(1)].map((of) => figuresOf(ratesAt(at, of)))).toEqual([
    { callsPerS: '0.7', endsPerMin: '4,003', ends: '4,000 succeeded, 3 failed' },
    { callsPerS: '0', endsPerMin: '0', ends: 'none' },
  ]);
});

test('ends are drawn in their minute of the hour; what is older or newer is not', () => {
  const none = { succeeded: 0, failed: 0, dead: 0, cancelled: 0, unknown: 0, retried: 0 };
  const at = Date.parse(minute) + 30_000;
  const of = (ago: number, ends: object) => ({
    minute: new Date(Date.parse(minute) - ago * 60_000).toISOString(),
    ends: { ...none, ...ends },
  });
  const { succeeded, failed } = hourOf(at, [
    of(0, { succeeded: 7, retried: 9 }),
    of(59, { succeeded: 1, failed: 1, dead: 2, unknown: 4, cancelled: 8 }),
    of(60, { succeeded: 100 }),
    of(-1, { succeeded: 100 }),
  ]);
  const drawn = (line: number[]): unknown => [line.length, ...line.flatMap((n, place) => (n > 0 ? [[place, n]] : []))];
  expect([drawn(succeeded), drawn(failed)]).toEqual([
    [60, [0, 1], [59, 7]],
    [60, [0, 7]],
  ]);
});

test('a low rate is not taken for none', () => {
  const none = { succeeded: 0, failed: 0, dead: 0, cancelled: 0, unknown: 0, retried: 0 };
  expect(figuresOf({ callsPerS: 0.01, endsPerMin: { ...none, dead: 0.02, retried: 5 } })).toEqual({
    callsPerS: '< 0.1',
    endsPerMin: '< 0.1',
    ends: '< 0.1 dead',
  });
});
