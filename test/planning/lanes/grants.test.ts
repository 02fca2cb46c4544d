import { checkApproachChange, windowOf } from '../../../workflows/planning/lanes/approaches';
import { pendingLimitOf } from '../../../workflows/planning/lanes/backPressure';
import { planGrants } from '../../../workflows/planning/lanes/grants';
import { ROUND } from '../../../workflows/planning/lanes/strategies';
import type { Lane } from '../../../workflows/planning/lanes/types';
import { buildBatch, buildLane, buildState, idsOf, waiting } from './builders';

const planOf = (lanes: Lane[], slots = 10) => planGrants(buildState({ lanes }), slots);
const grantsOf = (lane: Partial<Lane>, slots = 10): number[] => idsOf(planOf([buildLane({ id: 1, ...lane })], slots));

describe('approaches', () => {
  test('unconstrained sends all at once, serial one, parallel those that do not conflict with anything before [C25]', () => {
    const open = [
      buildBatch({ id: 1, writes: ['a'] }),
      buildBatch({ id: 2, writes: ['b'] }),
      buildBatch({ id: 3, reads: ['a', 'b'], writes: ['c'] }),
      buildBatch({ id: 4, reads: ['c'] }),
      buildBatch({ id: 5, reads: ['d'] }),
    ];
    expect(grantsOf({ approach: 'unconstrained', open })).toEqual([1, 2, 3, 4, 5]);
    expect(grantsOf({ approach: 'serial', open })).toEqual([1]);
    expect(grantsOf({ approach: 'parallel', open })).toEqual([1, 2, 5]);
  });

  test('in parallel, what is pending counts, and one that waits is not overtaken by one that conflicts with it [C25]', () => {
    const open = [
      buildBatch({ id: 1, writes: ['a'], status: 'pending' }),
      buildBatch({ id: 2, reads: ['a'], writes: ['b'] }),
      buildBatch({ id: 3, writes: ['b'] }),
      buildBatch({ id: 4, writes: ['c'] }),
    ];
    expect(grantsOf({ approach: 'parallel', open, pending: 1 })).toEqual([4]);
  });

  test('a batch that declared no sets conflicts with every other [C7]', () => {
    const open = [buildBatch({ id: 1, writes: ['a'] }), buildBatch({ id: 2 }), buildBatch({ id: 3, writes: ['b'] })];
    expect(grantsOf({ approach: 'parallel', open })).toEqual([1]);
  });

  test('the downstream keeps the order: accepted is enough, on the way is not; otherwise only committed is [C14 C15]', () => {
    const behind = (status: 'submitted' | 'pending' | 'valid') => [buildBatch({ id: 1, status }), ...waiting(2, 3)];
    for (const approach of ['serial', 'unconstrained'] as const) {
      const guaranteed = { kind: 'guaranteed', approach, pending: 1 } as const;
      expect(grantsOf({ ...guaranteed, open: behind('submitted') })).toEqual([]);
      expect(grantsOf({ ...guaranteed, open: behind('pending') })).toEqual([2]);
      expect(grantsOf({ ...guaranteed, open: behind('valid') })).toEqual([2]);
    }
    expect(grantsOf({ approach: 'serial', pending: 1, open: behind('valid') })).toEqual([]);
    // Once one was lost, what came before it may be lost, too.
    const lost = [buildBatch({ id: 1, status: 'pending' }), buildBatch({ id: 2, status: 'unknown' })];
    expect(grantsOf({ kind: 'guaranteed', pending: 1, open: lost })).toEqual([]);
  });

  test('one that was put back does not go while one behind it is in flight [C7]', () => {
    const open = [buildBatch({ id: 1, writes: ['a'] }), buildBatch({ id: 2, writes: ['a'], status: 'pending' })];
    expect(grantsOf({ approach: 'parallel', open, pending: 1 })).toEqual([]);
    expect(grantsOf({ kind: 'guaranteed', open, pending: 1 })).toEqual([]);
  });

  test('halves and retried members keep the sequence of their batch and precede what is later [C1]', () => {
    const halves = [1, 2].map((part) => buildBatch({ id: 90 + part, sequence: 1, part }));
    expect(grantsOf({ open: [...halves, ...waiting(2, 3)] })).toEqual([91]);
  });

  test('in halt mode a lane is served one by one, whatever its kind and approach [C19]', () => {
    const open = waiting(1, 3, { writes: ['a'] });
    for (const approach of ['unconstrained', 'parallel', 'serial'] as const)
      for (const kind of ['guaranteed', 'non-guaranteed'] as const)
        expect(grantsOf({ approach, kind, onInvalid: 'halt', open })).toEqual([1]);
  });

  test('kind and approach do not change while something is in flight; a serial lane is read one batch deep', () => {
    expect(() => checkApproachChange({ service: 'po-17', pending: 2 })).toThrow(
      /lane "po-17": Cannot change kind or approach: 2 of its batches are in flight\./,
    );
    expect(() => checkApproachChange({ service: 'po-17', pending: 1 })).toThrow(/1 of its batches are in flight/);
    expect(() => checkApproachChange({ service: 'po-17', pending: 0 })).not.toThrow();
    expect(windowOf(buildLane({ id: 1, pending: 3 }))).toBe(1);
    expect(windowOf(buildLane({ id: 1, approach: 'parallel', pending: 3 }))).toBe(67);
    expect(windowOf(buildLane({ id: 1, kind: 'guaranteed', pending: 3 }))).toBe(67);
    expect(windowOf(buildLane({ id: 1, kind: 'guaranteed', onInvalid: 'halt', pending: 3 }))).toBe(1);
  });
});

describe('lost and unknown batches', () => {
  test('of two unknown ones only the older goes, alone, before anything new of its lane [C17 C28]', () => {
    for (const approach of ['unconstrained', 'serial', 'parallel'] as const) {
      const unknown = [1, 2].map((id) => buildBatch({ id, status: 'unknown', writes: [`k${id}`] }));
      expect(grantsOf({ approach, open: [...unknown, ...waiting(3, 4, { writes: ['z'] })] })).toEqual([1]);
      const asked = [
        { ...unknown[0]!, status: 'submitted' as const },
        unknown[1]!,
        ...waiting(3, 4, { writes: ['z'] }),
      ];
      expect(grantsOf({ approach, open: asked, pending: 1 })).toEqual([]);
    }
  });

  test.each(['unconstrained', 'parallel', 'serial'] as const)(
    'while one of unknown outcome is looked up, nothing behind it goes: %s [C17]',
    (approach) => {
      const asked = buildBatch({ id: 1, status: 'submitted', resolving: true, writes: ['k1'] });
      const lane = { approach, open: [asked, ...waiting(2, 3, { writes: ['z'] })], pending: 1 };
      expect(grantsOf(lane)).toEqual([]);
      // Nor in what is given more of, and it is not looked at again before the look-up ends.
      expect(planOf([buildLane({ id: 1, ...lane, openMore: true })]).lanes).toMatchObject([
        { ready: false, dueInMs: null },
      ]);
      const sent = { ...asked, resolving: false };
      expect(grantsOf({ ...lane, open: [sent, ...lane.open.slice(1)] })).toEqual(
        approach === 'serial' ? [] : approach === 'parallel' ? [2] : [2, 3],
      );
    },
  );

  test('a parked one halts its lane, also the next when the first was resolved; other lanes go on [C28]', () => {
    const parked = buildLane({ id: 1, open: [buildBatch({ id: 1, status: 'parked' }), ...waiting(2, 3)] });
    const plan = planOf([parked, buildLane({ id: 2, open: waiting(4, 5) })]);
    expect(idsOf(plan)).toEqual([4]);
    expect(plan.lanes[0]).toMatchObject({ laneId: 1, haltedBy: 1, ready: false });
  });

  test('an unknown one whose look-up waits holds its lane, and says until when [C26]', () => {
    const open = [buildBatch({ id: 1, status: 'unknown', notBeforeInMs: 2_000 }), ...waiting(2, 2)];
    const plan = planOf([buildLane({ id: 1, approach: 'unconstrained', open })]);
    expect([idsOf(plan), plan.dueInMs]).toEqual([[], 2_000]);
  });
});

describe('what stops a lane', () => {
  const lane = (changes: Partial<Lane>): Lane =>
    buildLane({ id: 1, approach: 'unconstrained', open: waiting(1, 40), ...changes });

  test('pause of a lane and of everything, and halt: nothing of it, the others go on', () => {
    const other = buildLane({ id: 2, open: waiting(50, 50) });
    expect(idsOf(planOf([lane({ paused: true }), other]))).toEqual([50]);
    expect(idsOf(planOf([lane({ haltedBy: 9 }), other]))).toEqual([50]);
    expect(idsOf(planGrants(buildState({ lanes: [lane({}), other], paused: true }), 4))).toEqual([]);
    // It keeps its mark, for when it goes on.
    expect(planOf([lane({ paused: true })]).lanes).toEqual([]);
  });

  test('table: 429 with Retry-After: that service waits, the others go on', () => {
    const plan = planOf([lane({ holdInMs: 3_000 }), buildLane({ id: 2, open: waiting(50, 50) })]);
    expect(idsOf(plan)).toEqual([50]);
    expect(plan.lanes[0]).toMatchObject({ laneId: 1, ready: false, dueInMs: 3_000 });
  });

  test('table: a pending limit of 30 stops, and only below 15 is more accepted', () => {
    const full = planOf([lane({ pending: 28, pendingLimit: pendingLimitOf(30) })]);
    expect(full.grants).toHaveLength(2);
    expect(full.lanes[0]).toMatchObject({ pending: 30, saturated: true, ready: false });
    const at = (pending: number, saturated: boolean) =>
      grantsOf(lane({ pending, saturated, pendingLimit: pendingLimitOf(30) }), 1);
    expect(at(15, true)).toEqual([]);
    expect(at(14, true)).toEqual([1]);
    expect(at(15, false)).toEqual([1]);
  });

  test('stop: no slots, nothing starts and nothing changes', () => {
    expect(planOf([lane({})], 0)).toMatchObject({ grants: [], lanes: [], again: false });
  });
});

describe('dependencies', () => {
  test('one that waits for another lane holds its serial lane, and in parallel only what conflicts with it [C18]', () => {
    const open = [
      buildBatch({ id: 1, writes: ['a'], waitsFor: [77] }),
      buildBatch({ id: 2, writes: ['a'] }),
      buildBatch({ id: 3, writes: ['b'] }),
    ];
    expect(grantsOf({ open })).toEqual([]);
    expect(grantsOf({ approach: 'parallel', open })).toEqual([3]);
  });

  test('one whose dependency was not applied fails without being sent, and the next goes [C18]', () => {
    const plan = planOf([buildLane({ id: 1, open: [buildBatch({ id: 1, failedOn: 77 }), ...waiting(2, 3)] })]);
    expect(plan.failures).toEqual([{ batchId: 1, laneId: 1, on: 77 }]);
    expect(idsOf(plan)).toEqual([2]);
  });

  test('the same where only the first of the lane was given: it stays ready for the next plan [C18]', () => {
    const lane = buildLane({ id: 1, open: [buildBatch({ id: 1, failedOn: 77 })], openMore: true });
    const plan = planOf([lane]);
    expect(plan).toMatchObject({ grants: [], failures: [{ batchId: 1 }], again: true });
    expect(plan.lanes.every(({ ready }) => ready)).toBe(true);
  });

  test('in halt mode it halts its lane [C19]', () => {
    const open = [buildBatch({ id: 1, failedOn: 77 }), ...waiting(2, 3)];
    const plan = planOf([buildLane({ id: 1, onInvalid: 'halt', open })]);
    expect(plan).toMatchObject({ grants: [], failures: [{ batchId: 1 }], lanes: [{ haltedBy: 1, ready: false }] });
  });
});

describe('a plan', () => {
  test('says for whose nodes a lane waits: each handler once whose batch no node serves', () => {
    const open = [
      buildBatch({ id: 1, notBeforeInMs: 900 }),
      buildBatch({ id: 2, notBeforeInMs: 5_000, unservedBy: 7 }),
      buildBatch({ id: 3, notBeforeInMs: 6_000, unservedBy: 8 }),
      buildBatch({ id: 4, notBeforeInMs: 6_000, unservedBy: 7 }),
    ];
    const plan = planOf([buildLane({ id: 1, approach: 'unconstrained', open })]);
    expect(plan.lanes).toMatchObject([{ ready: false, dueInMs: 900, unservedBy: [7, 8] }]);
  });

  test('says the lane’s new place, and nothing of lanes that it left as they were [C22]', () => {
    const lanes = [buildLane({ id: 1, open: waiting(1, 5) }), buildLane({ id: 2, served: ROUND, open: waiting(6, 7) })];
    const plan = planGrants(buildState({ lanes }), 1);
    expect(plan.lanes).toEqual([
      {
        laneId: 1,
        deficit: 0,
        served: 1 + ROUND,
        pending: 1,
        saturated: false,
        haltedBy: null,
        heldBy: null,
        unservedBy: [],
        ready: false,
        dueInMs: null,
      },
    ]);
    expect(plan.round).toBe(1);
  });

  test('with more lanes than were given nobody is granted who comes after the last one given', () => {
    const open = (id: number) => [...waiting(10 * id, 10 * id + 5)];
    const lanes = [1, 2].map((id) => buildLane({ id, approach: 'unconstrained', open: open(id) }));
    const plan = planGrants(buildState({ lanes, more: true }), 4);
    expect([idsOf(plan), plan.again]).toEqual([[10, 20], true]);
    expect(idsOf(planGrants(buildState({ lanes, more: false }), 4))).toEqual([10, 20, 11, 21]);
  });

  test('single: a lane whose head is in flight does not keep the submitters idle [C21]', () => {
    const open = [
      buildBatch({ id: 1, status: 'pending', writes: ['a'] }),
      buildBatch({ id: 2, writes: ['a'] }),
      buildBatch({ id: 9, writes: ['b'] }),
    ];
    const lane = buildLane({ id: 1, approach: 'parallel', open, pending: 1 });
    expect(idsOf(planGrants(buildState({ strategy: 'single', lanes: [lane], more: true }), 1))).toEqual([9]);
  });

  test('a lane of which nothing went is not ready, however much of it was not given', () => {
    const open = [buildBatch({ id: 1, status: 'pending' }), ...waiting(2, 3)];
    const plan = planOf([buildLane({ id: 1, open, openMore: true, pending: 1 })]);
    expect(plan).toMatchObject({ grants: [], lanes: [{ ready: false, dueInMs: null }] });
    // All that was given is in flight: the end of one of them makes the lane ready again.
    const inFlight = [buildBatch({ id: 1, status: 'pending' })];
    const busy = planOf([buildLane({ id: 1, approach: 'unconstrained', open: inFlight, openMore: true, pending: 1 })]);
    expect(busy).toMatchObject({ grants: [], lanes: [{ ready: false }] });
    const gone = planOf([buildLane({ id: 1, approach: 'unconstrained', open: waiting(1, 1), openMore: true })]);
    expect(gone).toMatchObject({ grants: [{ batchId: 1 }], lanes: [{ ready: true }] });
  });

  test('is not asked for again where nothing came of it', () => {
    const stuck = buildLane({ id: 1, paused: true, open: waiting(1, 1) });
    expect(planGrants(buildState({ lanes: [stuck], more: true }), 4).again).toBe(false);
  });
});
