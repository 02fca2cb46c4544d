import fc from 'fast-check';
import { planClaim } from '../../../workflows/planning/grouping/claim';
import { grantShared, SHARED_LIMIT_NAMES, shareAfter } from '../../../workflows/planning/limits/sharing';
import type { SharedRate } from '../../../workflows/planning/limits/sharing';
import { buildCut, buildTasks } from '../builders';

/** A limit that several handlers share: together within it, and none of them left out. */

const NOW = 1_760_000_000_000;
const rate = (limit: number, perMs = 1_000): SharedRate => ({ limit, perMs, unit: 'calls', scope: 'shared' });

const claim = (
  shared: { rates: SharedRate[]; paces: number[]; active: number; ownMs: number },
  tasks: number,
  nowMs: number,
) =>
  planClaim(
    {
      limits: { ...buildCut({}).limits, maxItems: 1 },
      perTarget: 100,
      weightPerTarget: null,
      weightPerHandler: null,
      rates: [],
      paces: [],
      shared,
      weightInFlight: 0,
      targets: [
        {
          id: 1,
          overrides: null,
          flushSeq: null,
          paces: [],
          allowed: null,
          holdMs: null,
          inFlight: 0,
          weight: 0,
          head: buildTasks(tasks, { readyAtMs: nowMs - 60_000 }),
          more: false,
        },
      ],
      waiting: [],
      maxBatches: 1_000,
      maxTasks: 10_000,
    },
    nowMs,
  );

/** Handlers with endless work that claim in this order, every so often. */
const simulate = (n: number, limit: number, order: readonly number[], everyMs: number) => {
  let paces: number[] = [];
  const own = Array.from({ length: n }, () => ({ ownMs: 0, wantsUntil: 0, starts: [] as number[] }));
  order.forEach((who, turn) => {
    const nowMs = NOW + turn * everyMs;
    const others = own.filter((one, i) => i !== who && one.wantsUntil > nowMs).length;
    const plan = claim({ rates: [rate(limit)], paces, active: 1 + others, ownMs: own[who]!.ownMs }, 300, nowMs);
    ({ paces } = plan.shared!);
    const me = own[who]!;
    me.ownMs = plan.shared!.ownMs;
    me.wantsUntil = plan.shared!.wants ? Math.max(nowMs, plan.pacedUntilMs ?? 0) + 2_000 : 0;
    for (const { startAtMs } of plan.cut) me.starts.push(startAtMs ?? nowMs);
  });
  return own.map(({ starts }) => starts);
};

test('all handlers together keep to the rate, in whatever order they claim', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 30 }),
      fc.constantFrom(10, 100, 400),
      (order, limit, everyMs) => {
        const starts = simulate(3, limit, order, everyMs)
          .flat()
          .sort((a, b) => a - b);
        starts.slice(limit).forEach((start, i) => expect(start - starts[i]!).toBeGreaterThanOrEqual(1_000 - 1e-2));
      },
    ),
    { numRuns: 50 },
  );
});

test.each([
  ['in turns', (turn: number) => turn % 2],
  ['one of them nine times as often', (turn: number) => (turn % 10 === 0 ? 1 : 0)],
])('two handlers that always want more get the same, claiming %s', (_, who) => {
  const order = Array.from({ length: 600 }, (__, turn) => who(turn));
  const [a, b] = simulate(2, 20, order, 50).map((starts) => starts.filter((at) => at > NOW + 3_000).length) as [
    number,
    number,
  ];
  expect(a + b).toBeGreaterThan(20 * 25);
  expect(Math.min(a, b) / Math.max(a, b)).toBeGreaterThan(0.7);
});

test('one that wants nothing leaves its part to the other', () => {
  const [only] = simulate(2, 20, Array<number>(200).fill(0), 50);
  expect(only!.length).toBeGreaterThan(20 * 9.5);
});

test.each<[string, Parameters<typeof grantShared>[0], number, number]>([
  ['no limit of calls', { concurrency: null, slots: [], active: 1, blocked: false }, 9, 9],
  ['all, where no other waits', { concurrency: 6, slots: [], active: 2, blocked: false }, 9, 6],
  ['what is free', { concurrency: 6, slots: [{ handler: 2, slots: 4 }], active: 2, blocked: false }, 9, 2],
  [
    'its part, while another waits',
    { concurrency: 6, slots: [{ handler: 1, slots: 2 }], active: 2, blocked: true },
    9,
    1,
  ],
  ['none, when it has its part', { concurrency: 6, slots: [{ handler: 1, slots: 3 }], active: 2, blocked: true }, 9, 0],
  ['its part of three', { concurrency: 9, slots: [{ handler: 1, slots: 2 }], active: 3, blocked: true }, 9, 1],
  ['none, when none is free', { concurrency: 4, slots: [{ handler: 2, slots: 4 }], active: 2, blocked: false }, 9, 0],
])('calls at once: %s', (_, grant, wanted, expected) => {
  expect(grantShared(grant, 1, wanted)).toBe(expected);
});

test('a unit is had in the time in which the slowest rate lets so many start; without a rate in none', () => {
  const share = (rates: SharedRate[], ownMs: number): number =>
    shareAfter({ rates, active: 3, ownMs }, (unit) => (unit === 'calls' ? 1 : 5), NOW) - NOW;
  expect([share([], 0), share([], NOW + 7)]).toEqual([0, 7]);
  expect(share([rate(10), { ...rate(20), unit: 'items' }], NOW - 9)).toBe(3 * 250);
});

test('what can be set of it', () => expect(SHARED_LIMIT_NAMES).toEqual(['rate', 'concurrency']));
