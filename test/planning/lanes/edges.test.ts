import { pendingLimitOf } from '../../../workflows/planning/lanes/backPressure';
import { planGrants } from '../../../workflows/planning/lanes/grants';
import { PACE_HORIZON_MS } from '../../../workflows/planning/grouping/claim';
import type { GrantPlan, HandlerTokens, Lane } from '../../../workflows/planning/lanes/types';
import { buildBatch, buildLane, buildState, idsOf, waiting } from './builders';

/** What a plan of grants does at its edges: one left, none left, at this very moment. */

const planOf = (lanes: Lane[], slots = 10, state: Parameters<typeof buildState>[0] = {}): GrantPlan =>
  planGrants(buildState({ lanes, ...state }), slots);
const free = (lane: Partial<Lane> = {}): Lane =>
  buildLane({ id: 1, approach: 'unconstrained', open: waiting(1, 5), ...lane });

describe('which batches of a lane may go', () => {
  test('in parallel, a downstream that keeps the order may have what conflicts with what it has accepted', () => {
    const open = [buildBatch({ id: 1, status: 'pending', writes: ['a'] }), buildBatch({ id: 2, writes: ['a'] })];
    const lane = buildLane({ id: 1, approach: 'parallel', pending: 1, open });
    expect([idsOf(planOf([{ ...lane, kind: 'guaranteed' }])), idsOf(planOf([lane]))]).toEqual([[2], []]);
  });

  test('one that was put back waits for those behind it that are in flight, not for those that wait', () => {
    const of = (status: 'pending' | 'delayed'): number[] => {
      const behind = buildBatch({ id: 2, writes: ['a'], status, notBeforeInMs: 900 });
      return idsOf(planOf([free({ approach: 'parallel', open: [buildBatch({ id: 1, writes: ['a'] }), behind] })]));
    };
    expect([of('pending'), of('delayed')]).toEqual([[], [1]]);
  });

  test('one of unknown outcome waits for one that this plan grants before it', () => {
    const open = [buildBatch({ id: 1 }), buildBatch({ id: 2, status: 'unknown' })];
    expect(idsOf(planOf([free({ open })]))).toEqual([1]);
  });

  test('one whose dependency was not applied fails behind others, but not behind one of unknown outcome', () => {
    const failed = buildBatch({ id: 2, failedOn: 77 });
    const fails = (lane: Partial<Lane>): number[] => planOf([free(lane)]).failures.map(({ batchId }) => batchId);
    const behindPending = [buildBatch({ id: 1, status: 'pending' }), failed];
    expect(fails({ open: behindPending, pending: 1 })).toEqual([2]);
    expect(fails({ open: behindPending, pending: 1, onInvalid: 'halt' })).toEqual([]);
    expect(fails({ open: [buildBatch({ id: 1, status: 'unknown', notBeforeInMs: 900 }), failed] })).toEqual([]);
  });

  test('at its time it goes, 1 ms before it does not', () => {
    const at = (notBeforeInMs: number): number[] => idsOf(planOf([free({ open: waiting(1, 1, { notBeforeInMs }) })]));
    expect([at(0), at(1)]).toEqual([[1], []]);
  });
});

describe('whether a lane stays ready', () => {
  const isReady = (lane: Partial<Lane>): boolean => planOf([free(lane)]).lanes.every(({ ready }) => ready);

  test('where all of it went, only if more of it was not given', () => {
    expect([isReady({ openMore: true }), isReady({ openMore: false })]).toEqual([true, false]);
  });
  test('not where order or an unknown outcome holds all that was not given', () => {
    expect(isReady({ approach: 'serial', open: waiting(1, 2), openMore: true })).toBe(false);
    expect(isReady({ open: [buildBatch({ id: 1, status: 'unknown' })], openMore: true })).toBe(false);
  });
  test('not where its pending limit is reached', () => {
    const full = { pending: 28, pendingLimit: pendingLimitOf(30), open: waiting(1, 2), openMore: true };
    expect([isReady(full), isReady({ ...full, pending: 20 })]).toEqual([false, true]);
  });
  test('a lane that is halted stays as it was', () => {
    expect(planOf([free({ haltedBy: 9 })]).lanes).toEqual([]);
  });
  test('held for 1 ms it waits that long, and no longer', () => {
    expect(planOf([free({ holdInMs: 1 })])).toMatchObject({ grants: [], dueInMs: 1 });
    const over = planOf([free({ holdInMs: 0, open: waiting(1, 1) })]);
    expect([idsOf(over), over.lanes[0]!.dueInMs]).toEqual([[1], null]);
  });
});

describe('a plan', () => {
  test('without a slot changes nothing, whatever lanes there are', () => {
    const busy = buildLane({ id: 1, open: [buildBatch({ id: 1, status: 'pending' }), ...waiting(2, 2)], pending: 1 });
    expect(planOf([busy], 0)).toMatchObject({ grants: [], lanes: [], dueInMs: null });
    expect(planOf([busy], 1).lanes).toHaveLength(1);
  });

  test('is due when the first of its lanes is', () => {
    const delayed = (id: number, notBeforeInMs: number): Lane =>
      buildLane({ id, open: waiting(id, id, { notBeforeInMs }) });
    expect(planOf([delayed(1, 700), delayed(2, 300), delayed(3, 900)]).dueInMs).toBe(300);
  });

  test('many rounds: so many of each lane, and it is asked for again while slots are left', () => {
    const rounds = (slots: number, open = waiting(1, 5)): [number[], boolean] => {
      const plan = planOf([free({ open })], slots, { strategy: 'multi-round', depth: 2 });
      return [idsOf(plan), plan.again];
    };
    expect(rounds(10)).toEqual([[1, 2], true]);
    expect(rounds(2)).toEqual([[1, 2], false]);
    expect(rounds(10, waiting(1, 2))).toEqual([[1, 2], false]);
  });

  test('is not asked for again where all that was given has gone', () => {
    expect(planOf([free()])).toMatchObject({ again: false });
    expect(planOf([free()], 10, { more: true })).toMatchObject({ again: true });
    expect(planOf([free()], 1, { more: true })).toMatchObject({ again: false });
  });

  test('with more lanes than were given it ends before the first waiting batch of the last one', () => {
    const of = (second: number): number[] => {
      const lanes = [
        free({ open: [buildBatch({ id: 1 }), buildBatch({ id: second })] }),
        buildLane({ id: 2, paused: true, open: waiting(3, 3) }),
      ];
      return idsOf(planOf(lanes, 10, { strategy: 'single', more: true }));
    };
    expect([of(2), of(4)]).toEqual([[1, 2], [1]]);
  });

  test('says what each grant is for', () => {
    const lanes = [free({ open: waiting(1, 1) }), free({ id: 2, open: [buildBatch({ id: 9, status: 'unknown' })] })];
    expect(planOf(lanes).grants.map(({ batchId, purpose }) => [batchId, purpose])).toEqual([
      [1, 'send'],
      [9, 'resolve'],
    ]);
  });

  test('a batch that its rate holds back is looked at when the rate lets it', () => {
    const limits: HandlerTokens = {
      ...{ id: 7, perTarget: null, perHandler: null, weightPerTarget: null, weightPerHandler: null },
      ...{ calls: 0, weight: 0, targets: [], paces: [1_000_000 + PACE_HORIZON_MS + 1] },
      rates: [{ limit: 1, perMs: 1_000, unit: 'calls', scope: 'handler' }],
    };
    const open = waiting(1, 1, { tokens: { handlerId: 7, targetId: 1, n: 1, weight: 1 } });
    const plan = planOf([free({ open })], 10, { handlers: [limits], nowMs: 1_000_000 });
    expect(plan).toMatchObject({ grants: [], dueInMs: PACE_HORIZON_MS / 2 + 1, lanes: [{ heldBy: null }] });
  });
});
