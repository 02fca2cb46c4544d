import { LANE_STATES, laneStateOf } from '../../../workflows/planning/lanes/laneState';
import type { Lane } from '../../../workflows/planning/lanes/types';
import { buildBatch, buildLane } from './builders';

const open = [
  buildBatch({ id: 81, status: 'pending', reads: ['price'] }),
  buildBatch({ id: 82, writes: ['size'] }),
  buildBatch({ id: 83, writes: ['price'] }),
];
const UNREAD = { reads: [], writes: [], keysUnread: true as const };

describe('state of a lane in one word', () => {
  const rows: [string, Partial<Lane>][] = [
    ['empty', {}],
    ['free', { open: [buildBatch({ id: 1 })] }],
    ['in flight', { open: [buildBatch({ id: 1, status: 'submitted' }), buildBatch({ id: 2 })] }],
    ['waiting for commit', { open }],
    ['free', { open, approach: 'parallel' }],
    ['waiting for commit', { open: open.map((one) => ({ ...one, ...UNREAD })), approach: 'parallel' }],
    ['waiting for dependency', { open: [buildBatch({ id: 1, waitsFor: [9] })] }],
    ['delayed', { open: [buildBatch({ id: 1, status: 'delayed', notBeforeInMs: 5 })] }],
    ['unknown', { open: [buildBatch({ id: 1, status: 'unknown' })] }],
    ['halted', { open: [buildBatch({ id: 1, status: 'parked' })] }],
    ['halted', { open, haltedBy: 1 }],
    ['paused', { open, haltedBy: 1, paused: true }],
    ['back pressure', { open, saturated: true }],
    ['back pressure', { open, holdInMs: 1 }],
    ['waiting for commit', { open, holdInMs: 0 }],
    ['back pressure', { open, held: true }],
    ['waiting for commit', { open, held: false }],
    ['waiting for commit', { approach: 'unconstrained', open: [open[0]!, buildBatch({ id: 82, status: 'unknown' })] }],
  ];
  test.each(rows)('%s [C12]', (expected, lane) => {
    expect(laneStateOf(buildLane({ id: 1, ...lane }))).toBe(expected);
  });

  test('there is no other', () => {
    expect(new Set(rows.map(([state]) => state))).toEqual(new Set(LANE_STATES));
  });
});
