import fc from 'fast-check';
import { takePaced } from '../../../workflows/planning/grouping/pacing';
import { repaced, repacings } from '../../../workflows/planning/limits/repace';
import type { RateLimit } from '../../../workflows/planning/limits/limits';

/** The states of rates under a change of the rates. */

const NOW = 1_760_000_000_000;
const rate = (limit: number, perMs = 1_000, more: Partial<RateLimit> = {}): RateLimit => ({
  limit,
  perMs,
  unit: 'calls',
  scope: 'handler',
  ...more,
});
const change = (before: RateLimit[], after: RateLimit[], paces: number[], scope: RateLimit['scope'] = 'handler') =>
  repaced(paces, repacings(before, after, scope), NOW).map((at) => (at === 0 ? 0 : at - NOW));

test.each<[string, RateLimit[], RateLimit[], number[], number[]]>([
  ['an hour of a slow rate is not waited for under a fast one', [rate(1, 3_600_000)], [rate(10)], [3_600_000], [100]],
  ['part of a wait is a part of it', [rate(1, 10_000)], [rate(1, 1_000)], [5_000], [500]],
  ['what was planned ahead is handed back: one unit is waited for', [rate(100)], [rate(1, 60_000)], [1_000], [60_000]],
  ['a state that has passed stays passed', [rate(1)], [rate(2)], [-5], [0]],
  ['the last millisecond of a wait is one', [rate(1)], [rate(1)], [1], [1]],
  ['a new rate begins free', [], [rate(2)], [], [0]],
  ['another unit begins anew', [rate(1)], [rate(1, 1_000, { unit: 'items' })], [900], [0]],
  ['a rate less', [rate(1), rate(2)], [rate(1)], [900, 400], [900]],
])('%s', (_, before, after, left, expected) => {
  const got = change(
    before,
    after,
    left.map((ms) => NOW + ms),
  );
  expect(got).toEqual(expected);
});

test('rates of the other scope are left out', () => {
  const target = { scope: 'target' as const };
  expect(repacings([rate(1), rate(2, 1_000, target)], [rate(4, 1_000, target), rate(9)], 'target')).toEqual([
    { factor: 0.5, mostMs: 250 },
  ]);
});

const someRate = fc.record({ limit: fc.integer({ min: 1, max: 100 }), perMs: fc.integer({ min: 100, max: 100_000 }) });

test('the next call begins within one unit of the new rate, never before now, and none is overtaken', () => {
  fc.assert(
    fc.property(someRate, someRate, fc.integer({ min: 0, max: 50 }), (was, is, taken) => {
      let pace = { ...was, nextAtMs: 0 };
      for (let i = 0; i < taken; i++) pace = takePaced(pace, 1, NOW, Infinity)!.pace;
      const [at] = repaced(
        [pace.nextAtMs],
        repacings([rate(was.limit, was.perMs)], [rate(is.limit, is.perMs)], 'handler'),
        NOW,
      );
      const waitMs = Math.max(0, at! - NOW);
      expect(waitMs).toBeLessThanOrEqual(is.perMs / is.limit + 1e-3);
      if (taken > 0) expect(waitMs).toBeGreaterThan(0);
    }),
  );
});
