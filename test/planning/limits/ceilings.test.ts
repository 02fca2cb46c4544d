import fc from 'fast-check';
import { aboveCeilings, aboveDefined, ceilingsOf } from '../../../workflows/planning/limits/ceilings';
import type { LimitChange, RateLimit } from '../../../workflows/planning/limits/limits';
import type { SharedChange, SharedRate } from '../../../workflows/planning/limits/sharing';

/** What callers of the HTTP API may set, under an operator's ceilings. */

const rate = (limit: number, perMs = 1_000, more: Partial<RateLimit> = {}): RateLimit => ({
  limit,
  perMs,
  unit: 'calls',
  scope: 'handler',
  ...more,
});
const target = { scope: 'target' as const };
const most = { rate: [rate(10)], 'concurrency.perHandler': 5, 'maxWeightInFlight.perTarget': 100 };

test.each<[string, LimitChange, string[]]>([
  ['at the ceiling', { rate: [rate(10)], 'concurrency.perHandler': 5, 'maxWeightInFlight.perTarget': 100 }, []],
  ['more calls', { 'concurrency.perHandler': 6 }, ['concurrency.perHandler']],
  ['more weight', { 'maxWeightInFlight.perTarget': 101 }, ['maxWeightInFlight.perTarget']],
  ['what has no ceiling', { 'concurrency.perTarget': 10_000 }, []],
  ['as defined', { rate: null, 'concurrency.perHandler': null }, []],
  ['a faster rate', { rate: [rate(11)] }, ['rate']],
  ['the same rate in other words', { rate: [rate(600, 60_000)] }, []],
  ['a faster rate in other words', { rate: [rate(601, 60_000)] }, ['rate']],
  ['a burst of the same rate', { rate: [rate(36_000, 3_600_000)] }, []],
  ['no rate', { rate: [] }, ['rate']],
  ['a rate of another unit alone', { rate: [rate(1, 1_000, { unit: 'items' })] }, ['rate']],
  ['one that is slow enough among others', { rate: [rate(99), rate(2)] }, []],
  ['a rate per target in place of one over all', { rate: [rate(1, 1_000, target)] }, ['rate']],
])('%s', (_, change, expected) => {
  expect(aboveCeilings(most, change, false).map(({ limit }) => limit)).toEqual(expected);
});

test('a ceiling is named with its value', () => {
  expect(aboveCeilings(most, { rate: [], 'concurrency.perHandler': 6 }, false)).toEqual([
    { limit: 'concurrency.perHandler', most: '5' },
    { limit: 'rate', most: '10 calls per 1000 ms and handler' },
  ]);
  expect(aboveCeilings({}, { rate: [] }, false)).toEqual([]);
});

const shared = (limit: number): SharedRate => ({ limit, perMs: 1_000, unit: 'calls', scope: 'shared' });
test.each<[string, number | null, SharedChange, { limit: string; most: string }[]]>([
  ['less', 5, { concurrency: 4, rate: [shared(9)] }, []],
  ['as much', 5, { concurrency: 5, rate: [shared(10)] }, []],
  ['more calls', 5, { concurrency: 6 }, [{ limit: 'concurrency', most: '5' }]],
  ['a faster rate', 5, { rate: [shared(11)] }, [{ limit: 'rate', most: '10 calls per 1000 ms' }]],
  ['as defined', 5, { concurrency: null, rate: null }, []],
  ['nothing', 5, {}, []],
  ['calls where there is no limit', null, { concurrency: 6 }, []],
])('of a limit that handlers share a caller may set %s', (_, concurrency, change, above) => {
  expect(aboveDefined({ rate: [shared(10)], concurrency }, change)).toEqual(above);
});

test('of a target only ceilings per target count; a rate over all targets is within one per target', () => {
  const each = { rate: [rate(10), rate(2, 1_000, target)] };
  expect(aboveCeilings(each, { rate: [rate(2, 1_000, target)] }, true)).toEqual([]);
  expect(aboveCeilings(each, { rate: [rate(3, 1_000, target)] }, true)).toHaveLength(1);
  expect(aboveCeilings(each, { rate: [rate(2)] }, false)).toEqual([]);
});

test("a handler's own ceilings count, or else those of all; a name of every object is none", () => {
  const all = { '*': { 'concurrency.perHandler': 1 }, orders: { 'concurrency.perHandler': 2 } };
  expect(ceilingsOf(all, 'orders')['concurrency.perHandler']).toBe(2);
  expect(ceilingsOf(all, 'others')['concurrency.perHandler']).toBe(1);
  expect(ceilingsOf({}, 'constructor')).toEqual({});
});

test('what is accepted never starts more within a second than the ceiling, whatever the rates are', () => {
  const some = fc.record({ limit: fc.integer({ min: 1, max: 50 }), perMs: fc.integer({ min: 100, max: 60_000 }) });
  fc.assert(
    fc.property(some, fc.array(some, { maxLength: 3 }), (ceiling, asked) => {
      const above = aboveCeilings(
        { rate: [rate(ceiling.limit, ceiling.perMs)] },
        { rate: asked.map(({ limit, perMs }) => rate(limit, perMs)) },
        false,
      );
      const fastest = Math.min(Infinity, ...asked.map(({ limit, perMs }) => limit / perMs));
      expect(above.length === 0).toBe(fastest * ceiling.perMs <= ceiling.limit * (1 + 1e-12));
    }),
    { seed: 7 },
  );
});
