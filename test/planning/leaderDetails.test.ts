import type { LeaderFacts } from '../../workflows/planning/grouping/leaderDetails';
import { leaderDetails } from '../../workflows/planning/grouping/leaderDetails';

const NOW = Date.parse('2026-01-02T03:04:05.000Z');
const facts: LeaderFacts = {
  ...{
    handler: 'orders',
    name: '3',
    nowMs: NOW,
    epoch: 2,
    turn: 7,
    next: 'waiting',
    dueAtMs: NOW + 1_500,
    heldBy: null,
  },
  ...{ live: 1, dispatch: { batches: 1, tasks: 500 }, batches: 12, tasks: 3_400, lastReason: 'linger' },
  backlog: { targets: 3, tasks: 1_234, atMs: NOW },
};

test('what the Web UI shows of a leader: targets, queued, in flight, epoch, last flush reason, next due [G12 Build 4]', () => {
  expect(leaderDetails(facts).split('\n')).toEqual([
    '**orders**, set `3`, as of 2026-01-02T03:04:05.000Z',
    '',
    '- epoch 2, turn 7; looks again at 2026-01-02T03:04:06.500Z',
    '- waiting: 1,234 tasks of 3 targets',
    '- in flight: 1 dispatch (last: 1 batch, 500 tasks)',
    '- this run: 12 batches, 3,400 tasks; last flush reason: linger',
  ]);
});

test.each<[string, Partial<LeaderFacts>, string]>([
  [
    'a count that stopped',
    { backlog: { targets: 1_000, tasks: 10_000, atMs: NOW } },
    '- waiting: 10,000+ tasks of 1,000+ targets',
  ],
  [
    'a count of before',
    { backlog: { targets: 1, tasks: 1, atMs: NOW - 4_000 } },
    '- waiting: 1 task of 1 target (counted 2026-01-02T03:04:01.000Z)',
  ],
  ['nothing counted yet', { backlog: null }, '- waiting: not counted yet'],
  ['idle: what was counted is gone', { next: 'idle', dueAtMs: null }, '- waiting: nothing'],
  [
    'held',
    { next: 'working', dueAtMs: null, heldBy: 'pause of the handler' },
    '- epoch 2, turn 7; working, held by pause of the handler',
  ],
  ['nothing in flight any more', { live: 0 }, '- in flight: 0 dispatches'],
  ['in flight since another run', { dispatch: null }, '- in flight: 1 dispatch'],
  ['waits for nothing', { dueAtMs: null }, '- epoch 2, turn 7; waiting'],
  ['at work, with what is due', { next: 'working' }, '- epoch 2, turn 7; working'],
  [
    'nothing sent',
    { lastReason: null, batches: 0, tasks: 0 },
    '- this run: 0 batches, 0 tasks; last flush reason: none yet',
  ],
])('%s', (_, change, line) => {
  expect(leaderDetails({ ...facts, ...change }).split('\n')).toContain(line);
});
