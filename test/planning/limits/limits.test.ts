import fc from 'fast-check';
import { describeValue, wordOf, wordOfShared } from '../../../workflows/planning/limits/describe';
import { LIMIT_NAMES, ratesOfTarget, SETTABLE, TARGET_LIMIT_NAMES } from '../../../workflows/planning/limits/limits';
import {
  changedLimits,
  changeOverrides,
  firstUntilMs,
  inForce,
  unexpired,
} from '../../../workflows/planning/limits/overrides';
import type { LimitChange, LimitValues, Overrides, RateLimit } from '../../../workflows/planning/limits/limits';

/** Limits that are set in place of those of a definition. */

const NOW = 1_760_000_000_000;
const rate = (limit: number, scope: RateLimit['scope'] = 'handler'): RateLimit => ({
  limit,
  perMs: 1_000,
  unit: 'calls',
  scope,
});
const defined: LimitValues = {
  rate: [rate(5)],
  'concurrency.perTarget': 4,
  'concurrency.perHandler': 32,
  'maxWeightInFlight.perTarget': null,
  'maxWeightInFlight.perHandler': 100,
};
const set = (overrides: Overrides, change: LimitChange, untilMs: number | null = null): Overrides =>
  changeOverrides(overrides, change, { by: 'ana', nowMs: NOW, untilMs });

test('what is set counts in place of what is defined, and nothing else changes', () => {
  const overrides = set({}, { 'concurrency.perHandler': 2, rate: [] }, NOW + 60_000);
  expect(inForce(defined, overrides)).toEqual({ ...defined, 'concurrency.perHandler': 2, rate: [] });
  expect(overrides['concurrency.perHandler']).toEqual({
    value: 2,
    by: 'ana',
    at: '2025-10-09T08:53:20.000Z',
    until: '2025-10-09T08:54:20.000Z',
  });
});

test('null is "as defined"; what is left out stays, with who set it until when', () => {
  const first = set({}, { 'concurrency.perHandler': 2, 'concurrency.perTarget': 1 }, NOW + 60_000);
  const second = set(first, { 'concurrency.perHandler': null, 'maxWeightInFlight.perTarget': 7 });
  expect(second['concurrency.perTarget']).toEqual(first['concurrency.perTarget']);
  expect(Object.keys(second).sort()).toEqual(['concurrency.perTarget', 'maxWeightInFlight.perTarget']);
  expect(firstUntilMs(second)).toBe(NOW + 60_000);
  expect(firstUntilMs(set({}, { rate: [] }))).toBeNull();
  expect(firstUntilMs(set(first, { rate: [] }, NOW + 9))).toBe(NOW + 9);
});

test('a limit ends at its time, and the others stay', () => {
  const both = set(set({}, { rate: [] }, NOW + 10), { 'concurrency.perTarget': 1 }, NOW + 20);
  expect(Object.keys(unexpired(both, NOW + 9))).toHaveLength(2);
  expect(Object.keys(unexpired(both, NOW + 10))).toEqual(['concurrency.perTarget']);
  expect(unexpired(both, NOW + 20)).toEqual({});
  expect(Object.keys(unexpired(set({}, { rate: [] }), Infinity))).toEqual(['rate']);
});

test.each<[string, RateLimit[], RateLimit[] | null, RateLimit[]]>([
  ['none of its own', [rate(1), rate(2, 'target')], null, [rate(1), rate(2, 'target')]],
  [
    'its own in place of those per target',
    [rate(2, 'target'), rate(1)],
    [rate(9, 'target')],
    [rate(1), rate(9, 'target')],
  ],
  ['none per target', [rate(2, 'target'), rate(1)], [], [rate(1)]],
])('rates of a target: %s', (_, ofHandler, own, expected) => {
  expect(ratesOfTarget(ofHandler, own)).toEqual(expected);
});

test.each<[string, RateLimit[], RateLimit[], boolean]>([
  ['the same', [rate(1), rate(2)], [rate(1), rate(2)], false],
  ['another limit', [rate(1)], [rate(2)], true],
  ['another period', [rate(1)], [{ ...rate(1), perMs: 2_000 }], true],
  ['another unit', [rate(1)], [{ ...rate(1), unit: 'items' }], true],
  ['another scope', [rate(1)], [rate(1, 'target')], true],
  ['one more', [rate(1)], [rate(1), rate(2)], true],
  ['one less', [rate(1), rate(2)], [rate(1)], true],
  ['another second one', [rate(1), rate(2)], [rate(1), rate(3)], true],
])('rates that are %s', (_, before, after, isChanged) => {
  expect(changedLimits({ ...defined, rate: before }, { ...defined, rate: after })).toEqual(
    isChanged ? [{ limit: 'rate', from: before, to: after }] : [],
  );
});

test('limits have names and values for people, and bounds', () => {
  expect(LIMIT_NAMES.map(wordOf)).toEqual([
    ...['rate', 'calls at once per target', 'calls at once'],
    ...['weight in flight per target', 'weight in flight'],
  ]);
  expect((['rate', 'concurrency'] as const).map(wordOfShared)).toEqual(['rate', 'calls at once']);
  expect([null, 5, [], [rate(1), { ...rate(2, 'target'), unit: 'items' as const }]].map(describeValue)).toEqual([
    ...['none', '5', 'none'],
    '1 call per 1 s, 2 items per 1 s and target',
  ]);
  expect(describeValue([{ ...rate(1), unit: 'weight' }])).toBe('1 weight per 1 s');
  expect(TARGET_LIMIT_NAMES).toEqual(['rate', 'concurrency.perTarget', 'maxWeightInFlight.perTarget']);
  expect(SETTABLE).toEqual({ least: 0.001, most: 1_000_000_000, longestMs: 2_592_000_000 });
});

const weight = fc.option(fc.integer({ min: 1, max: 50 }), { nil: null });
const calls = fc.integer({ min: 1, max: 50 });
const rates = fc.array(
  fc.record({
    limit: fc.integer({ min: 1, max: 9 }),
    perMs: fc.constantFrom(1_000, 60_000),
    unit: fc.constantFrom('calls' as const, 'items' as const),
    scope: fc.constantFrom('target' as const, 'handler' as const),
  }),
  { maxLength: 2 },
);
const values = fc.record({
  rate: rates,
  'concurrency.perTarget': calls,
  'concurrency.perHandler': calls,
  'maxWeightInFlight.perTarget': weight,
  'maxWeightInFlight.perHandler': weight,
});
const change = fc.record(
  {
    rate: fc.option(rates, { nil: null }),
    'concurrency.perTarget': fc.option(calls, { nil: null }),
    'concurrency.perHandler': fc.option(calls, { nil: null }),
    'maxWeightInFlight.perTarget': weight,
    'maxWeightInFlight.perHandler': weight,
  },
  { requiredKeys: [] },
);

test('after any changes: the last word on each limit counts, and removing all leaves the definition', () => {
  fc.assert(
    fc.property(values, fc.array(change, { maxLength: 5 }), (base, changes) => {
      const overrides = changes.reduce((all, one) => set(all, one), {} as Overrides);
      const after = inForce(base, overrides);
      for (const name of LIMIT_NAMES) {
        const last = changes.findLast((one) => one[name] !== undefined)?.[name] ?? null;
        expect(after[name]).toEqual(last === null ? base[name] : last);
      }
      const nulls = Object.fromEntries(LIMIT_NAMES.map((name) => [name, null])) as LimitChange;
      expect(set(overrides, nulls)).toEqual({});
      expect(inForce(base, {})).toEqual(base);
    }),
  );
});

test('what has changed is named with both values, and nothing else is', () => {
  fc.assert(
    fc.property(values, values, (before, after) => {
      const changed = changedLimits(before, after);
      const named = new Set<string>(changed.map(({ limit }) => limit));
      for (const name of LIMIT_NAMES)
        expect(named.has(name)).toBe(JSON.stringify(before[name]) !== JSON.stringify(after[name]));
      for (const { limit, from, to } of changed) expect([from, to]).toEqual([before[limit], after[limit]]);
    }),
  );
});
