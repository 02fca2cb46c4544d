import { planGrants } from '../../../workflows/planning/lanes/grants';
import type { LaneBatchStatus } from '../../../workflows/planning/lanes/statuses';
import { isEnded } from '../../../workflows/planning/lanes/statuses';
import type { Lane, QueuedBatch } from '../../../workflows/planning/lanes/types';
import { buildBatch, buildLane, buildState, idsOf } from './builders';

/**
 * The store of the spec; `head` is what its rows add to abcd-1234, ended statuses leave nothing
 * behind but the halt.
 */
const lanesOf = (head: Partial<QueuedBatch> | null, onInvalid: Lane['onInvalid'] = 'continue'): Lane[] => {
  const of = (...ids: number[]): QueuedBatch[] => ids.map((id) => buildBatch({ id, sequence: 10_000 + id }));
  const status = head?.status ?? 'unsubmitted';
  const open = head === null || isEnded(status) ? [] : [buildBatch({ id: 0, sequence: 10_000, ...head })];
  const haltedBy = status === 'invalid' && onInvalid === 'halt' ? 0 : null;
  return [
    buildLane({ id: 1, service: 'abcd-1234', onInvalid, haltedBy, open: [...open, ...of(1, 2, 5, 7)] }),
    buildLane({ id: 2, service: 'ayay-1212', open: of(6, 8, 9) }),
    buildLane({ id: 3, service: 'efgh-5678', open: of(3, 4) }),
  ];
};
const next = (lanes: Lane[]): number[] => idsOf(planGrants(buildState({ strategy: 'one-round', lanes }), 10));

const rows: [string, { status: LaneBatchStatus; notBeforeInMs?: number } | null, Lane['onInvalid'], number[]][] = [
  ['as above', null, 'continue', [1, 6, 3]],
  ['b0 Pending', { status: 'pending' }, 'continue', [6, 3]],
  ['b0 Unknown', { status: 'unknown' }, 'continue', [0, 6, 3]],
  ['b0 submitted, no status', { status: 'submitted' }, 'continue', [6, 3]],
  ['b0 Valid', { status: 'valid' }, 'continue', [6, 3]],
  ['b0 Committed', { status: 'committed' }, 'continue', [1, 6, 3]],
  ['b0 Invalid', { status: 'invalid' }, 'continue', [1, 6, 3]],
  ['b0 Invalid in halt mode', { status: 'invalid' }, 'halt', [6, 3]],
  ['b0 Delayed 14 s ago', { status: 'delayed', notBeforeInMs: 1_000 }, 'continue', [6, 3]],
  ['b0 Delayed 15 s ago', { status: 'delayed', notBeforeInMs: 0 }, 'continue', [0, 6, 3]],
];

describe('the next round, one-round and serial (first table of the spec)', () => {
  test.each(rows)('%s [C23 C25 C26]', (_case, head, onInvalid, expected) => {
    expect(next(lanesOf(head, onInvalid))).toEqual(expected);
  });

  test('an empty store gives nothing and no error [C23]', () => {
    expect(planGrants(buildState(), 10)).toEqual({
      grants: [],
      failures: [],
      lanes: [],
      round: 0,
      paced: { handlers: new Map(), targets: new Map() },
      dueInMs: null,
      again: false,
    });
  });

  test('the same with only the first open batch of each lane, as the store gives it [C25 C26]', () => {
    for (const [, head, onInvalid, expected] of rows) {
      const heads = lanesOf(head, onInvalid).map((lane) => ({ ...lane, open: lane.open.slice(0, 1), openMore: true }));
      expect(next(heads)).toEqual(expected);
    }
  });

  test('the unknown one is granted to be resolved, not to be sent blindly [C20 C28]', () => {
    const plan = planGrants(buildState({ lanes: lanesOf({ status: 'unknown' }) }), 1);
    expect(plan.grants).toMatchObject([{ batchId: 0, from: 'unknown', purpose: 'resolve' }]);
  });

  test('a delayed one says when the lane is due [C26]', () => {
    const plan = planGrants(buildState({ lanes: lanesOf({ status: 'delayed', notBeforeInMs: 1_000 }) }), 10);
    expect(plan.dueInMs).toBe(1_000);
    expect(plan.lanes.find(({ laneId }) => laneId === 1)).toMatchObject({ ready: false, dueInMs: 1_000 });
  });
});

const parallelTable: Pick<QueuedBatch, 'reads' | 'writes'>[] = [
  { reads: ['B', 'E'], writes: ['F'] },
  { reads: ['D'], writes: ['E'] },
  { reads: ['B'], writes: ['A'] },
  { reads: ['A', 'C'], writes: ['B'] },
  { reads: ['D'], writes: ['C'] },
  { reads: ['D'], writes: ['C'] },
  { reads: [], writes: ['D'] },
];

test.each(['single', 'per-service', 'one-round', 'multi-round'] as const)(
  'the parallel table of the spec in rounds, with strategy %s [C25]',
  (strategy) => {
    let open = parallelTable.map((sets, at) => buildBatch({ id: at + 1, ...sets }));
    const rounds: number[][] = [];
    while (open.length > 0) {
      const lane = buildLane({ id: 1, approach: 'parallel', open, weight: 10 });
      const round = idsOf(planGrants(buildState({ strategy, depth: 10, lanes: [lane] }), 16));
      rounds.push(round);
      open = open.filter(({ id }) => !round.includes(id));
    }
    expect(rounds).toEqual([[1, 3], [2, 4], [5], [6], [7]]);
  },
);
