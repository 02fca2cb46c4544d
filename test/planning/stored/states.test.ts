import { BULK_STATES, bulkStateName, isBulkOver } from '../../../workflows/planning/bulk/states';
import {
  CHUNK,
  EXECUTION,
  executionStateName,
  isOver,
  ITEM,
  itemStateName,
  pendingOf,
} from '../../../workflows/planning/executions/states';
import { FANOUT_STATES, fanoutStateName, isFanoutOver } from '../../../workflows/planning/fanouts/states';
import { STATUSES, statusName } from '../../../workflows/planning/lanes/statuses';
import {
  BATCH_STATES,
  batchStateName,
  FLUSH_REASONS,
  flushReasonName,
  isTerminal,
  LEADER_STATES,
  leaderStateName,
  TASK_STATES,
  taskStateName,
} from '../../../workflows/planning/states';

/**
 * Numbers of states as they lie in every store, and their names. A number that changes is another
 * state in the stores that exist: this table only grows.
 */

type Table = Readonly<Record<number, string>>;
const TASKS: Table = {
  0: 'created',
  1: 'batched',
  2: 'in-progress',
  3: 'unknown',
  4: 'succeeded',
  5: 'failed',
  6: 'dead',
  7: 'cancelled',
};
const BATCHES: Table = { 1: 'open', 3: 'unknown', 4: 'succeeded', 5: 'failed', 6: 'dead', 7: 'dissolved' };
const REASONS: Table = {
  0: 'size',
  1: 'bytes',
  2: 'weight',
  3: 'linger',
  4: 'quiet',
  5: 'manual',
  6: 'shutdown',
  7: 'bisect',
  8: 'split',
  9: 'given',
};
const LANE_BATCHES: Table = {
  0: 'unsubmitted',
  1: 'delayed',
  2: 'unknown',
  3: 'submitted',
  4: 'pending',
  5: 'valid',
  6: 'parked',
  7: 'refused',
  10: 'committed',
  11: 'invalid',
  12: 'skipped',
  13: 'failed-dependency',
  14: 'cancelled',
};

test.each<[string, Table, numbers: Readonly<Record<string, number>>, name: (code: number) => string]>([
  ['task', TASKS, TASK_STATES, taskStateName],
  ['batch', BATCHES, BATCH_STATES, batchStateName],
  ['reason', REASONS, FLUSH_REASONS, flushReasonName],
  ['leader', { 0: 'idle', 1: 'working', 2: 'waiting' }, LEADER_STATES, leaderStateName],
  ['batch of a lane', LANE_BATCHES, STATUSES, statusName],
  ['bulk action', { 0: 'counting', 1: 'working', 2: 'done', 3: 'stopped' }, BULK_STATES, bulkStateName],
])('each state of a %s is stored as its number, and read as its name', (_, table, numbers, name) => {
  expect(Object.fromEntries(Object.entries(numbers).map(([state, code]) => [code, state]))).toEqual(table);
  for (const [code, state] of Object.entries(table)) expect(name(Number(code))).toBe(state);
  expect(() => name(99)).toThrow(/expected one of .*, got 99/);
});

test('fan-outs, executions, their items and chunks', () => {
  expect([0, 1, 2, 3].map(fanoutStateName)).toEqual(['open', 'sealed', 'complete', 'expired']);
  expect(() => fanoutStateName(4)).toThrow('fan-out state: expected one of 0 to 3, got 4');
  expect(FANOUT_STATES).toEqual({ open: 0, sealed: 1, complete: 2, expired: 3, deleted: 4 });
  expect([0, 1, 2, 100, -3].map(executionStateName)).toEqual([
    'created',
    'in-progress',
    'staging',
    'done',
    'cancelled',
  ]);
  expect(() => executionStateName(-4)).toThrow('execution: no state -4');
  expect(EXECUTION).toEqual({ created: 0, inProgress: 1, staging: 2, done: 100, cancelled: -3, deleted: -4 });
  const items = ['created', 'in-progress', 'done', 'failed', 'permanently-failed'];
  expect([0, 1, 100, -1, -2].map(itemStateName)).toEqual(items);
  expect(() => itemStateName(7)).toThrow('work item: no state 7');
  expect(ITEM).toEqual({ created: 0, inProgress: 1, done: 100, failed: -1, permanentlyFailed: -2 });
  expect(CHUNK).toEqual({ filling: 2, ready: 0, taken: 1, done: 100, closed: -1 });
});

test('what is over never changes again', () => {
  const tasks = Object.values(TASKS) as (keyof typeof TASK_STATES)[];
  expect(tasks.filter(isTerminal)).toEqual(['succeeded', 'failed', 'dead', 'cancelled']);
  expect((['open', 'sealed', 'complete', 'expired'] as const).filter(isFanoutOver)).toEqual(['complete', 'expired']);
  expect((['counting', 'working', 'done', 'stopped'] as const).filter(isBulkOver)).toEqual(['done', 'stopped']);
  expect(Object.values(EXECUTION).filter(isOver)).toEqual([100, -3, -4]);
});

test('a new round takes what was created or has failed', () => {
  const counts = { created: 3, inProgress: 10, done: 100, failed: 4, permanentlyFailed: 1_000 };
  expect(pendingOf(counts)).toBe(7);
});
