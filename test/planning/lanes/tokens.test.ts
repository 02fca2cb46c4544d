import { PACE_HORIZON_MS } from '../../../workflows/planning/grouping/claim';
import { planGrants } from '../../../workflows/planning/lanes/grants';
import type { Taken } from '../../../workflows/planning/lanes/tokens';
import { TokenBudget } from '../../../workflows/planning/lanes/tokens';
import type { BatchTokens, HandlerTokens, QueuedBatch } from '../../../workflows/planning/lanes/types';
import { buildBatch, buildLane, buildState, idsOf } from './builders';

/** The limits of a handler over all lanes that send through it: calls, weight and rates. */

const NOW = 1_000_000;
const HANDLER = 7;

const handler = (parts: Partial<HandlerTokens> = {}): HandlerTokens => ({
  id: HANDLER,
  perTarget: null,
  perHandler: null,
  weightPerTarget: null,
  weightPerHandler: null,
  rates: [],
  paces: [],
  calls: 0,
  weight: 0,
  targets: [],
  ...parts,
});
type Batch = Pick<QueuedBatch, 'tokens' | 'status'>;
const batch = (parts: Partial<BatchTokens> = {}, status: QueuedBatch['status'] = 'unsubmitted'): Batch => ({
  status,
  tokens: { handlerId: HANDLER, targetId: 1, n: 3, weight: 2, ...parts },
});
/** What each of the batches gets, one after the other. */
const taken = (limits: HandlerTokens, ...batches: Batch[]): (number | Taken)[] => {
  const budget = new TokenBudget([limits], NOW);
  return batches.map((one) => {
    const result = budget.take(one);
    return 'held' in result ? result : result.startInMs;
  });
};
const FULL = { held: { inMs: null, handlerId: HANDLER } };

test('a batch without tokens, or of a handler without limits, goes at once', () => {
  expect(taken(handler({ perHandler: 0 }), { status: 'unsubmitted' })).toEqual([0]);
  expect(taken(handler({ perHandler: 0 }), batch({ handlerId: 8 }))).toEqual([0]);
  expect(taken(handler(), batch(), batch())).toEqual([0, 0]);
});

test('calls of the handler: those with submitters now, and those of this plan', () => {
  expect(taken(handler({ perHandler: 3, calls: 1 }), batch(), batch(), batch())).toEqual([0, 0, FULL]);
  expect(taken(handler({ perHandler: 1, calls: 1 }), batch())).toEqual([FULL]);
});

test('calls of a target are its own, and fewer where back pressure left fewer', () => {
  const target = { id: 1, paces: [], calls: 1, weight: 0 };
  const two = [batch(), batch(), batch({ targetId: 2 }), batch({ targetId: 2 }), batch({ targetId: 2 })];
  expect(taken(handler({ perTarget: 2, targets: [target] }), ...two)).toEqual([0, FULL, 0, 0, FULL]);
  expect(taken(handler({ perTarget: 3, targets: [{ ...target, allowed: 2 }] }), batch(), batch())).toEqual([0, FULL]);
  expect(taken(handler({ perTarget: 2, targets: [{ ...target, allowed: 3 }] }), batch(), batch())).toEqual([0, FULL]);
  expect(taken(handler({ targets: [{ ...target, allowed: 2 }] }), batch(), batch())).toEqual([0, FULL]);
});

test('weight: up to the limit exactly; one of unknown outcome is counted already, one of none fits always', () => {
  const light = batch({ weight: 1 });
  expect(taken(handler({ weightPerHandler: 5, weight: 2 }), batch(), light, light)).toEqual([0, 0, FULL]);
  expect(taken(handler({ weightPerHandler: 2, weight: 2 }), batch({}, 'unknown'), batch({ weight: 0 }))).toEqual([
    0, 0,
  ]);
  const target = { id: 1, paces: [], calls: 0, weight: 3 };
  const limits = handler({ weightPerTarget: 5, targets: [target] });
  expect(taken(limits, batch(), light, batch({ targetId: 2 }))).toEqual([0, FULL, 0]);
});

test('weight: a batch above the limit goes alone, and one that is counted goes whatever is in flight', () => {
  expect(taken(handler({ weightPerHandler: 1 }), batch(), batch())).toEqual([0, FULL]);
  expect(taken(handler({ weightPerHandler: 2, weight: 1 }), batch())).toEqual([FULL]);
  expect(taken(handler({ weightPerHandler: 2, weight: 3 }), batch({}, 'unknown'))).toEqual([0]);
  expect(taken(handler({ weightPerTarget: 2 }), batch({ targetId: 9 }))).toEqual([0]);
});

test('what is set for a target counts in place of what the handler has', () => {
  const own = { id: 1, paces: [], calls: 0, weight: 0 };
  const of = (target: object, parts: Partial<HandlerTokens>): (number | Taken)[] =>
    taken(handler({ ...parts, targets: [{ ...own, ...target }] }), batch(), batch());
  expect(of({ perTarget: 1 }, { perTarget: 9 })).toEqual([0, FULL]);
  expect(of({ perTarget: 9 }, { perTarget: 1 })).toEqual([0, 0]);
  expect(of({ weightPerTarget: 3 }, { weightPerTarget: 9 })).toEqual([0, FULL]);
  expect(of({ rates: [{ limit: 2, perMs: 1_000, unit: 'calls', scope: 'target' }] }, {})).toEqual([0, 500]);
});

test('a batch that is held takes nothing of any limit', () => {
  const limits = handler({ perHandler: 2, perTarget: 1, weightPerHandler: 4 });
  expect(taken(limits, batch(), batch(), batch({ targetId: 2 }))).toEqual([0, FULL, 0]);
});

describe('rates', () => {
  const rate = (parts: Partial<HandlerTokens['rates'][number]> = {}): HandlerTokens['rates'][number] => ({
    limit: 10,
    perMs: 1_000,
    unit: 'calls',
    scope: 'handler',
    ...parts,
  });

  test.each([
    ['calls', 100],
    ['items', 300],
    ['weight', 200],
  ] as const)('of %s: the second starts %d ms after the first', (unit, ms) => {
    expect(taken(handler({ rates: [rate({ unit })] }), batch(), batch({ targetId: 2 }))).toEqual([0, ms]);
    const own = handler({ rates: [rate({ unit, scope: 'target' })] });
    expect(taken(own, batch(), batch({ targetId: 2 }), batch())).toEqual([0, 0, ms]);
  });

  test('what is taken of them is to be stored, of the handler and of each target', () => {
    const limits = handler({
      rates: [rate({ scope: 'target', limit: 5 }), rate({ limit: 2 }), rate({ limit: 4 })],
      paces: [NOW + 50, NOW + 300],
      targets: [{ id: 1, paces: [NOW + 20], calls: 0, weight: 0 }],
    });
    const budget = new TokenBudget([limits], NOW);
    expect(budget.take(batch())).toEqual({ startInMs: 300 });
    expect(budget.paced.handlers).toEqual(new Map([[HANDLER, [NOW + 800, NOW + 550]]]));
    expect(budget.paced.targets).toEqual(new Map([[1, [NOW + 500]]]));
    expect(limits.paces).toEqual([NOW + 50, NOW + 300]);
  });

  test('up to the horizon a call is granted ahead; beyond it is held until half of it is left, and takes nothing', () => {
    const at = (paceMs: number): HandlerTokens => handler({ rates: [rate()], paces: [NOW + paceMs], perHandler: 1 });
    expect(taken(at(PACE_HORIZON_MS), batch(), batch())).toEqual([PACE_HORIZON_MS, FULL]);
    const ahead = new TokenBudget([at(PACE_HORIZON_MS)], NOW);
    ahead.take(batch());
    expect(ahead.paced.handlers).toEqual(new Map([[HANDLER, [NOW + PACE_HORIZON_MS + 100]]]));
    const held = { held: { inMs: PACE_HORIZON_MS / 2 + 1, handlerId: null } };
    expect(taken(at(PACE_HORIZON_MS + 1), batch(), batch())).toEqual([held, held]);
    const budget = new TokenBudget([at(PACE_HORIZON_MS + 1)], NOW);
    budget.take(batch());
    expect([budget.paced.handlers.size, budget.paced.targets.size]).toEqual([0, 0]);
  });

  test('a handler without rates stores no pace', () => {
    const budget = new TokenBudget([handler()], NOW);
    budget.take(batch());
    expect([budget.paced.handlers.size, budget.paced.targets.size]).toEqual([0, 0]);
  });
});

test('a batch that is held is not granted: its lane keeps its turn, and others go', () => {
  const tokens = (targetId: number): BatchTokens => ({ handlerId: HANDLER, targetId, n: 1, weight: 1 });
  const lanes = [1, 2, 3].map((id) =>
    buildLane({ id, open: [buildBatch({ id: 10 * id, tokens: tokens(id === 3 ? 3 : 1) })] }),
  );
  const limits = handler({ perTarget: 1 });
  const plan = planGrants({ ...buildState({ lanes }), handlers: [limits], nowMs: NOW }, 3);
  expect(idsOf(plan)).toEqual([10, 30]);
  expect(plan.lanes.find(({ laneId }) => laneId === 2)).toMatchObject({
    served: 0,
    ready: false,
    heldBy: HANDLER,
    dueInMs: 30_000,
  });
});
