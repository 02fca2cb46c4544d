import type { ClaimInput } from '../../../workflows/planning/grouping/claim';
import { PACE_HORIZON_MS, planClaim } from '../../../workflows/planning/grouping/claim';
import type { RateLimit } from '../../../workflows/planning/limits/limits';
import { buildCut, buildTasks } from '../builders';

/** A claim under limits that were set for one target, or changed while batches waited. */

const NOW = 1_000_000;
type Target = ClaimInput['targets'][number];
const target = (parts: Partial<Target> = {}): Target => ({
  id: 1,
  overrides: null,
  flushSeq: null,
  paces: [],
  allowed: null,
  holdMs: null,
  inFlight: 0,
  weight: 0,
  head: buildTasks(9),
  more: false,
  ...parts,
});
const claim = (parts: Partial<ClaimInput>) =>
  planClaim(
    {
      limits: buildCut({}).limits,
      perTarget: 4,
      weightPerTarget: null,
      weightPerHandler: null,
      rates: [],
      paces: [],
      weightInFlight: 0,
      targets: [target()],
      waiting: [],
      maxBatches: 10,
      maxTasks: 1_000,
      ...parts,
    },
    NOW,
  );
const rate = (parts: Partial<RateLimit> = {}): RateLimit => ({
  limit: 2,
  perMs: 1_000,
  unit: 'calls',
  scope: 'target',
  ...parts,
});

test.each<[string, Partial<Target>, cut: number, busy: boolean]>([
  ['fewer than the handler', { inFlight: 1, perTarget: 2 }, 1, true],
  ['more than the handler', { inFlight: 4, perTarget: 9 }, 3, false],
  ['none of its own', { inFlight: 3, perTarget: null }, 1, true],
  ['back pressure has left fewer than its own', { inFlight: 1, perTarget: 9, allowed: 2 }, 1, true],
])('calls at once of a target: %s', (_, parts, cut, busy) => {
  const plan = claim({ targets: [target(parts)] });
  expect([plan.cut.length, plan.targets[0]!.busy]).toEqual([cut, busy]);
});

test('the weight of a target itself counts, for what is in flight and for the largest batch', () => {
  const own = claim({ weightPerTarget: 100, targets: [target({ weightPerTarget: 4, weight: 2 })] });
  expect([own.cut.map(({ seqs }) => seqs.length), own.targets[0]!.busy]).toEqual([[], true]);
  const free = claim({ weightPerTarget: 1, targets: [target({ weightPerTarget: 4 })] });
  expect(free.cut.map(({ weight }) => weight)).toEqual([3]);
});

test('a rate of its own counts for that target only, and the rate over all targets for both', () => {
  const rates = [rate({ limit: 1_000 }), rate({ limit: 10, scope: 'handler' })];
  const plan = claim({ rates, targets: [target({ rates: [rate()] }), target({ id: 2 })] });
  const startsOf = (id: number): (number | null)[] =>
    plan.cut.filter(({ targetId }) => targetId === id).map(({ startAtMs }) => startAtMs);
  expect(startsOf(1)).toEqual([null, NOW + 500, NOW + 1_000]);
  expect(startsOf(2)).toEqual([]);
  expect(plan.paces).toEqual([NOW + 1_100]);
  expect(plan.targets.map(({ paces }) => paces)).toEqual([[NOW + 1_500], null]);
  const [only] = claim({ rates, targets: [target({ id: 2, rates: [] })] }).cut.slice(1);
  expect(only!.startAtMs).toBe(NOW + 100);
});

test('batches that were handed back start in their turn, not all at once', () => {
  const waiting = [1, 2, 3, 4].map((id) => ({ id, targetId: 1, n: 1, weight: 1 }));
  const plan = claim({ rates: [rate({ scope: 'handler', limit: 3 })], waiting, targets: [target({ head: [] })] });
  expect(plan.take).toEqual([1, 2, 3, 4].slice(0, 1 + Math.floor(PACE_HORIZON_MS / (1_000 / 3 + 0.001))));
  expect(plan.later.map(({ id, startAtMs }) => [id, Math.round(startAtMs - NOW)])).toEqual([
    [2, 333],
    [3, 667],
  ]);
});

describe('a limit that others share', () => {
  const HORIZON = NOW + PACE_HORIZON_MS;
  const shared = { rates: [{ ...rate({ limit: 10 }), scope: 'shared' as const }], paces: [], active: 2, ownMs: 0 };
  const one = { targets: [target({ head: buildTasks(3) })] };
  const waits = { cut: [], pacedUntilMs: NOW + 501 };

  test('what a claim takes of it, and of its own share', () => {
    const plan = claim({ ...one, shared });
    expect(plan.shared).toEqual({ paces: [NOW + 100], ownMs: NOW + 200, wants: false });
    expect(claim(one).shared).toBeUndefined();
  });
  test('up to the horizon its share is had ahead; beyond it waits, and says that it wants more', () => {
    expect(claim({ ...one, shared: { ...shared, ownMs: HORIZON } }).cut).toHaveLength(1);
    const plan = claim({ ...one, shared: { ...shared, ownMs: HORIZON + 1 } });
    expect(plan).toMatchObject({ ...waits, shared: { paces: [], ownMs: HORIZON + 1, wants: true } });
  });
  test('alone it has no share to keep to', () => {
    expect(claim({ ...one, shared: { ...shared, active: 1, ownMs: HORIZON + 1 } }).cut).toHaveLength(1);
  });
  test('it wants more where the shared rate has no room, not where its own has none', () => {
    const ofShared = claim({ ...one, shared: { ...shared, paces: [HORIZON + 1] } });
    expect(ofShared).toMatchObject({ ...waits, shared: { wants: true } });
    const ofOwn = claim({ ...one, shared, rates: [rate({ scope: 'handler' })], paces: [HORIZON + 1] });
    expect(ofOwn).toMatchObject({ ...waits, shared: { wants: false } });
  });
});

test('of tasks with one key of coalesceBy the last is cut, where the handler has it', () => {
  const head = buildTasks(3, { key: 'coalesce:a', readyAtMs: NOW - 5_000 });
  const [batch] = claim({ coalesces: true, targets: [target({ head })] }).cut;
  expect(batch).toMatchObject({
    seqs: [3],
    superseded: [
      { seq: 1, by: 3 },
      { seq: 2, by: 3 },
    ],
  });
});
