import { ERROR_SOURCES, groupErrors } from '../../../workflows/planning/errors/group';
import type { CountedError } from '../../../workflows/planning/errors/group';
import { remedyOf } from '../../../workflows/planning/errors/remedies';

const error = (text: string, given: Partial<CountedError> = {}): CountedError => ({
  handler: 'orders',
  of: 'dead',
  text,
  count: 1,
  firstMs: 10,
  lastMs: 10,
  tasks: [],
  batches: [],
  callbacks: [],
  ...given,
});

test('errors of one handler and kind with one text are a group, the most frequent first', () => {
  const groups = groupErrors([
    error('order 1 is gone', { count: 2, firstMs: 5, lastMs: 20, tasks: [1, 2], batches: [7] }),
    error('no stock', { count: 3 }),
    error('order 2 is gone', { count: 5, firstMs: 8, lastMs: 30, tasks: [3, 4], batches: [8] }),
    error('order 3 is gone', { of: 'failed' }),
    error('order 3 is gone', { handler: 'others', lastMs: 11 }),
  ]);
  expect(groups.map(({ handler, of, text, count }) => [handler, of, text, count])).toEqual([
    ['orders', 'dead', 'order <n> is gone', 7],
    ['orders', 'dead', 'no stock', 3],
    ['others', 'dead', 'order <n> is gone', 1],
    ['orders', 'failed', 'order <n> is gone', 1],
  ]);
  expect(groups[0]).toMatchObject({
    error: 'order 2 is gone',
    firstMs: 5,
    lastMs: 30,
    tasks: [3, 4, 1],
    batches: [8, 7],
  });
});

test('of errors that are equally new, the first one is shown', () => {
  const at = { firstMs: 10, lastMs: 10 };
  const [group] = groupErrors([error('order 1', { ...at, tasks: [1] }), error('order 2', { ...at, tasks: [2] })]);
  expect(group).toMatchObject({ error: 'order 1', tasks: [1, 2] });
});

test('what an error is of', () => {
  expect(ERROR_SOURCES).toEqual(['dead', 'failed', 'unknown', 'retrying', 'callback']);
});

test.each([
  [
    'dead',
    'orders',
    'no <n> stock',
    'muster tasks orders --state dead --error stock',
    `muster bulk redrive orders --state dead --error-group 'no <n> stock'`,
  ],
  [
    'unknown',
    "o's",
    'it is <n>',
    `muster tasks 'o'\\''s' --state unknown --error 'it is'`,
    `muster bulk redrive 'o'\\''s' --state unknown --error-group 'it is <n>'`,
  ],
  [
    'failed',
    'orders',
    'bad',
    'muster tasks orders --state failed',
    'muster bulk redrive orders --state failed --error-group bad',
  ],
  ['retrying', 'orders', '<n>', 'muster tasks orders --state created', null],
  ['callback', 'orders', 'HTTP 500', 'muster callbacks --handler orders', 'muster callbacks send --handler orders'],
  ['callback', null, 'HTTP 500', 'muster callbacks', 'muster callbacks send'],
] as const)('what to do about %s of %s', (of, handler, text, list, again) => {
  expect(remedyOf(handler, of, text)).toEqual({ list, again });
});
