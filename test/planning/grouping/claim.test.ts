import type { ClaimInput, ClaimPlan } from '../../../workflows/planning/grouping/claim';
import { PACE_HORIZON_MS, planClaim } from '../../../workflows/planning/grouping/claim';
import { buildCut, buildTask, buildTasks } from '../builders';

/** Which batches one claim takes and cuts, where calls, weight and rates are limited. */

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
  head: buildTasks(3),
  more: false,
  ...parts,
});
const claim = (parts: Partial<ClaimInput> = {}): ClaimPlan =>
  planClaim(
    {
      limits: buildCut({}).limits,
      perTarget: 1,
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
const cutOf = (plan: ClaimPlan): [targetId: number, seqs: number[]][] =>
  plan.cut.map(({ targetId, seqs }) => [targetId, seqs]);

const FREE = { dueAtMs: null, busy: false, paces: [], holdMs: null };
const LEFT = { dueAtMs: NOW, busy: false, paces: null, holdMs: null };

test('a due queue is cut, and every field of the plan says what it leaves', () => {
  expect(claim()).toEqual({
    take: [],
    later: [],
    cut: [
      { targetId: 1, seqs: [1, 2, 3], tasks: buildTasks(3), reason: 'size', bytes: 30, weight: 3, startAtMs: null },
    ],
    targets: [{ id: 1, ...FREE }],
    paces: [],
    tasks: 3,
    pacedUntilMs: null,
    weightBlocked: false,
  });
});

test("a queue that is not due says when it is, by the target's own limits where it has some", () => {
  const head = buildTasks(2, { readyAtMs: NOW - 400 });
  expect(claim({ targets: [target({ head })] }).targets[0]).toMatchObject({ dueAtMs: NOW + 600, busy: false });
  const own = claim({ targets: [target({ head, overrides: { lingerMs: 2_000 } })] });
  expect(own.targets[0]).toMatchObject({ dueAtMs: NOW + 1_600 });
  expect(cutOf(claim({ targets: [target({ head, flushSeq: 2 })] }))).toEqual([[1, [1, 2]]]);
});

describe('a target that is held back', () => {
  test.each<[string, holdMs: number | null, cut: number, dueAtMs: number | null]>([
    ['sends nothing and is due when the hold ends', NOW + 1, 0, NOW + 1],
    ['sends when it is over', NOW, 1, null],
    ['was never held', null, 1, null],
  ])('%s', (_, holdMs, cut, dueAtMs) => {
    const plan = claim({ targets: [target({ holdMs })] });
    expect(plan.cut).toHaveLength(cut);
    expect(plan.targets[0]).toMatchObject({ dueAtMs, busy: false });
  });
  test('does not hold back the next', () => {
    expect(cutOf(claim({ targets: [target({ holdMs: NOW + 1 }), target({ id: 2 })] }))).toEqual([[2, [1, 2, 3]]]);
  });
});

describe('calls in flight of a target', () => {
  const queue = (parts: Partial<Target>): Target => target({ head: buildTasks(9), ...parts });
  test.each<[string, parts: Partial<Target>, perTarget: number, cut: number, busy: boolean]>([
    ['none: all that is due is taken ahead', {}, 1, 3, false],
    ['at the limit: nothing', { inFlight: 2 }, 2, 0, true],
    ['above the limit: nothing', { inFlight: 3 }, 2, 0, true],
    ['one below the limit: one', { inFlight: 1 }, 2, 1, true],
    ['two below the limit: two', { inFlight: 1 }, 3, 2, true],
    ['below the limit by as many as are due', { inFlight: 1 }, 4, 3, false],
    ['back pressure allows fewer', { inFlight: 1, allowed: 2 }, 4, 1, true],
    ['back pressure allows more than the handler', { inFlight: 1, allowed: 9 }, 2, 1, true],
  ])('%s', (_, parts, perTarget, cut, busy) => {
    const plan = claim({ perTarget, targets: [queue(parts)] });
    expect(plan.cut).toHaveLength(cut);
    expect(plan.targets[0]).toMatchObject({ busy, dueAtMs: busy ? NOW : null });
  });
  test('what the claim itself has no room for does not make the target busy', () => {
    const plan = claim({ maxBatches: 2, targets: [queue({}), queue({ id: 2 })] });
    expect(plan.cut).toHaveLength(2);
    expect(plan.targets).toEqual([
      { id: 1, dueAtMs: NOW, busy: false, paces: [], holdMs: null },
      { id: 2, ...LEFT },
    ]);
  });
});

describe('batches that wait in the store', () => {
  const waiting = (...ids: number[]): ClaimInput['waiting'] =>
    ids.map((id) => ({ id, targetId: id < 10 ? 1 : 2, n: 2, weight: 5 }));

  test('go before new ones, each with its own target', () => {
    const plan = claim({ waiting: waiting(4, 12, 5), targets: [target(), target({ id: 2, head: [] })] });
    expect(plan.take).toEqual([4, 5, 12]);
    expect(cutOf(plan)).toEqual([[1, [1, 2, 3]]]);
    expect(plan.tasks).toBe(9);
    expect(plan.targets).toEqual([
      { id: 1, ...FREE },
      { id: 2, ...FREE },
    ]);
  });
  test('count for the calls of their target: the rest stays, and nothing new goes', () => {
    const plan = claim({ perTarget: 2, waiting: waiting(4, 5), targets: [target({ inFlight: 1 })] });
    expect(plan.take).toEqual([4]);
    expect(plan.cut).toEqual([]);
    expect(plan.targets[0]).toMatchObject({ dueAtMs: NOW, busy: true });
    const last = claim({ perTarget: 2, waiting: waiting(4), targets: [target({ inFlight: 1 })] });
    expect([last.take, last.cut, last.targets[0]!.busy]).toEqual([[4], [], true]);
  });
  test('count for the batches of the claim: the rest is due, and its target is not busy', () => {
    const plan = claim({ maxBatches: 1, waiting: waiting(4, 5) });
    expect([plan.take, plan.cut]).toEqual([[4], []]);
    expect(plan.targets[0]).toMatchObject({ dueAtMs: NOW, busy: false });
    const none = claim({ maxBatches: 0, perTarget: 2, waiting: waiting(4), targets: [target({ inFlight: 1 })] });
    expect(none.targets[0]).toMatchObject({ dueAtMs: NOW, busy: false });
  });
});

test('a claim ends at its tasks, with the batch that passes them', () => {
  const targets = [target(), target({ id: 2 }), target({ id: 3 })];
  expect(cutOf(claim({ maxTasks: 1, targets })).map(([id]) => id)).toEqual([1]);
  expect(cutOf(claim({ maxTasks: 3, targets })).map(([id]) => id)).toEqual([1]);
  expect(cutOf(claim({ maxTasks: 4, targets })).map(([id]) => id)).toEqual([1, 2]);
  const waiting = [{ id: 7, targetId: 1, n: 3, weight: 0 }];
  const after = claim({ maxTasks: 3, waiting, targets: [target()] });
  expect([after.take, after.cut, after.targets[0]!.dueAtMs]).toEqual([[7], [], NOW]);
  expect(claim({ maxBatches: 0 })).toMatchObject({ cut: [], targets: [{ dueAtMs: NOW, busy: false }] });
});

describe('weight in flight', () => {
  const heavy = (id: number, weight: number, parts: Partial<Target> = {}): Target =>
    target({ id, head: [buildTask({ seq: id, weight, readyAtMs: NOW - 5_000 })], ...parts });

  test('of the handler: what is in flight and what was cut leave less for the next', () => {
    const targets = [heavy(1, 4), heavy(2, 4), heavy(3, 2)];
    const plan = claim({ weightPerHandler: 10, weightInFlight: 2, targets });
    expect(cutOf(plan)).toEqual([
      [1, [1]],
      [2, [2]],
    ]);
    expect(plan.weightBlocked).toBe(true);
    expect(plan.targets[2]).toEqual({ id: 3, dueAtMs: NOW, busy: false, paces: null, holdMs: null });
    expect(claim({ weightPerHandler: 10, weightInFlight: 0, targets })).toMatchObject({ weightBlocked: false });
  });
  test('of the target: it is busy, and the handler is not blocked', () => {
    const plan = claim({ weightPerTarget: 5, targets: [heavy(1, 3, { weight: 3 }), heavy(2, 3, { weight: 2 })] });
    expect(cutOf(plan)).toEqual([[2, [2]]]);
    expect(plan.targets[0]).toMatchObject({ dueAtMs: NOW, busy: true });
    expect(plan.weightBlocked).toBe(false);
  });
  test('of the target, all of it in batches that wait for a later time: it is held until then', () => {
    const later = { weight: 3, fromMs: NOW + 5_000 };
    const of = (targetOf: Parameters<typeof heavy>[2]): ClaimPlan['targets'][number] =>
      claim({ weightPerTarget: 5, targets: [heavy(1, 3, { weight: 3, later, ...targetOf })] }).targets[0]!;
    expect(of({})).toMatchObject({ dueAtMs: NOW + 5_000, holdMs: NOW + 5_000, busy: false });
    expect(of({ weight: 4 })).toMatchObject({ busy: true, holdMs: null }); // 1 of it is in a call
    expect(of({ later: null })).toMatchObject({ busy: true, holdMs: null });
  });
  test('of the target, in batches that wait, but a call of it begins now: its end frees weight', () => {
    const later = { weight: 3, fromMs: NOW + 5_000 };
    const full = heavy(1, 3, { weight: 3, later });
    const taken = claim({ weightPerTarget: 5, waiting: [{ id: 7, targetId: 1, n: 1, weight: 3 }], targets: [full] });
    expect([taken.take, taken.targets[0]!.busy, taken.targets[0]!.holdMs]).toEqual([[7], true, null]);
    const head = buildTasks(2, { weight: 2, readyAtMs: NOW - 5_000 });
    const two = target({ head, overrides: { maxItems: 1 }, weight: 3, later });
    const cut = claim({ weightPerTarget: 5, targets: [two, { ...full, id: 2 }] });
    expect([cutOf(cut), cut.targets.map(({ busy }) => busy)]).toEqual([[[1, [1]]], [true, false]]);
    expect(cut.targets[1]!.holdMs).toBe(NOW + 5_000);
  });
  test('of both: the one with less left is what it waits for; the target where they are equal', () => {
    const both = (weight: number, weightInFlight: number): ClaimPlan =>
      claim({ weightPerTarget: 5, weightPerHandler: 5, weightInFlight, targets: [heavy(1, 3, { weight })] });
    expect(both(4, 3)).toMatchObject({ targets: [{ busy: true }], weightBlocked: false });
    expect(both(3, 4)).toMatchObject({ targets: [{ busy: false }], weightBlocked: true });
    expect(both(4, 4)).toMatchObject({ targets: [{ busy: true }], weightBlocked: false });
  });
  test('no batch of several is cut heavier than the smaller budget', () => {
    const head = buildTasks(3, { weight: 2, readyAtMs: NOW - 5_000 });
    const cut = (weightPerTarget: number | null, weightPerHandler: number | null): number[] =>
      claim({ weightPerTarget, weightPerHandler, targets: [target({ head })] }).cut.map(({ weight }) => weight);
    expect([cut(4, 8), cut(8, 4), cut(null, 4), cut(null, null)]).toEqual([[4], [4], [4], [6]]);
  });
});

describe('rates', () => {
  const rate = (parts: Partial<ClaimInput['rates'][number]> = {}): ClaimInput['rates'][number] => ({
    limit: 10,
    perMs: 1_000,
    unit: 'calls',
    scope: 'handler',
    ...parts,
  });
  const HORIZON = NOW + PACE_HORIZON_MS;

  test.each([
    ['calls', 100],
    ['items', 300],
    ['weight', 600],
  ] as const)('of %s: a batch of 3 tasks of weight 2 takes %d ms', (unit, ms) => {
    const targets = [target({ head: buildTasks(3, { weight: 2 }) })];
    expect(claim({ rates: [rate({ unit })], targets }).paces).toEqual([NOW + ms]);
    const own = claim({ rates: [rate({ unit, scope: 'target' })], targets });
    expect(own).toMatchObject({ paces: [], targets: [{ paces: [NOW + ms] }] });
  });
  test('the first call starts now, the next ones later, each after the one before', () => {
    const plan = claim({ rates: [rate()], targets: [target({ head: buildTasks(9) })] });
    expect(plan.cut.map(({ startAtMs }) => startAtMs)).toEqual([null, NOW + 100, NOW + 200]);
    expect(plan.paces).toEqual([NOW + 300]);
  });
  test('up to the horizon a call is claimed ahead; beyond it waits until half of it is left', () => {
    expect(claim({ rates: [rate()], paces: [HORIZON] }).cut.map(({ startAtMs }) => startAtMs)).toEqual([HORIZON]);
    const late = claim({ rates: [rate()], paces: [HORIZON + 1] });
    expect(late).toMatchObject({ cut: [], paces: [HORIZON + 1], pacedUntilMs: NOW + 501 });
    expect(late.targets).toEqual([{ id: 1, ...LEFT }]);
  });
  test('of the target: only it is held, until then', () => {
    const targets = [target({ paces: [HORIZON + 1] }), target({ id: 2 })];
    const plan = claim({ rates: [rate({ scope: 'target' })], targets });
    expect(cutOf(plan)).toEqual([[2, [1, 2, 3]]]);
    expect(plan.targets).toEqual([
      { id: 1, ...LEFT, holdMs: NOW + 501 },
      { id: 2, dueAtMs: null, busy: false, paces: [NOW + 100], holdMs: null },
    ]);
    expect(plan.pacedUntilMs).toBeNull();
  });
  test('of both: each keeps its own place, and the slower one says when the call starts', () => {
    const rates = [rate({ scope: 'target', limit: 5 }), rate({ limit: 2 }), rate({ limit: 4 })];
    const plan = claim({ rates, paces: [NOW + 50, NOW + 300], targets: [target({ paces: [NOW + 20] })] });
    expect(plan.cut.map(({ startAtMs }) => startAtMs)).toEqual([NOW + 300]);
    expect(plan.paces).toEqual([NOW + 800, NOW + 550]);
    expect(plan.targets[0]!.paces).toEqual([NOW + 500]);
  });
  test('a target that waits for its own rate takes nothing of the rate of all', () => {
    const rates = [rate(), rate({ scope: 'target' })];
    const plan = claim({ rates, targets: [target({ paces: [HORIZON + 1] })] });
    expect(plan).toMatchObject({ cut: [], paces: [], pacedUntilMs: null });
  });
  test('the latest of several waits of the handler is what all wait for', () => {
    const rates = [rate({ limit: 1 })];
    const plan = claim({ rates, paces: [HORIZON + 5], targets: [target(), target({ id: 2 })] });
    expect(plan.pacedUntilMs).toBe(NOW + 505);
  });
  test('batches that wait take their part, too', () => {
    const waiting = [{ id: 7, targetId: 1, n: 4, weight: 1 }];
    const plan = claim({ rates: [rate({ unit: 'items' })], waiting, targets: [target({ head: [] })] });
    expect([plan.take, plan.paces, plan.targets[0]!.paces]).toEqual([[7], [NOW + 400], []]);
    const late = claim({ rates: [rate()], paces: [HORIZON + 1], waiting });
    expect([late.take, late.cut, late.targets[0]]).toEqual([[], [], { id: 1, ...LEFT }]);
  });
});
