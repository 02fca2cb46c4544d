import { balancerDetails } from '../../../workflows/planning/nodes/details';

/** What the Web UI shows of the balancer. */

const FACTS: Parameters<typeof balancerDetails>[0] = {
  nowMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  epoch: 6,
  rounds: 7,
  moves: 8,
  nodes: 3,
  partitions: 64,
  held: 60,
  waiting: 2,
  dueInMs: null,
  last: [],
};

test('nothing moved, nothing due', () => {
  expect(balancerDetails(FACTS).split('\n')).toEqual([
    '**Balancer**, as of 2026-01-02T03:04:05.000Z',
    '',
    '- assignor epoch 6, 7 rounds and 8 moves in this run; looks again when a node joins or leaves',
    '- before this round 60 of 64 partitions were held, by 3 live nodes; 2 revoked and not yet given up',
    '- nothing has moved yet',
  ]);
});

test('when it looks again, and the last moves', () => {
  const lines = balancerDetails({ ...FACTS, dueInMs: 55_000, last: ['b', 'a'] }).split('\n');
  expect(lines[2]).toMatch(/; looks again 2026-01-02T03:05:00\.000Z$/);
  expect(lines.slice(4)).toEqual(['', 'Last moves, newest first:', '', '- b', '- a']);
});
