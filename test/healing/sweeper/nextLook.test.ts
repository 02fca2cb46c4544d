import { msToTs } from '@temporalio/common/lib/time';
import { nextTimeOut } from '../../../workers/sweeper/stuck/nextLook';
import { NONE_TIMED, timedNow } from '../../../workers/sweeper/stuck/timedActivities';

/** When a run is looked at before its regular turn, so that nothing is found seconds late. */

const limits = { lostMs: 8_000, overMs: 1_000 };
const nothing = { task: null, quiet: null, timed: NONE_TIMED };
const run = { task: null, taskTimeoutMs: 15_000, quiet: null };
const task = { what: 'a task', since: 100 };
const limit = { scheduleToStartTimeout: msToTs(1_000) };
const timed = timedNow(NONE_TIMED, [{ activityId: '1', state: 1, attempt: 1, activityOptions: limit }], 100);

test.each<[string, Parameters<typeof nextTimeOut>[0], Parameters<typeof nextTimeOut>[1], number]>([
  ['a run that waits for nothing', nothing, run, Infinity],
  ['a task that no worker takes', { ...nothing, task }, { ...run, task: { isStarted: false } }, 8_100],
  ['a task that a worker has', { ...nothing, task }, { ...run, task: { isStarted: true } }, 16_100],
  [
    'a task of which the server does not say for how long',
    { ...nothing, task },
    { ...run, task: { isStarted: true }, taskTimeoutMs: null },
    Infinity,
  ],
  ['activities that are quiet', { ...nothing, quiet: task }, { ...run, quiet: { forMs: 4_000 } }, 12_100],
  ['an activity that the server is to end', { ...nothing, timed }, run, 9_100],
  [
    'the first of several',
    { task, quiet: task, timed },
    { ...run, task: { isStarted: false }, quiet: { forMs: 4_000 } },
    8_100,
  ],
])('%s', (_, memory, of, at) => {
  expect(nextTimeOut(memory, of, limits, 100)).toBe(at);
});

test('a time that has passed waits for the regular look, one that lies ahead does not', () => {
  const both = { task, quiet: task, timed: NONE_TIMED };
  const of = { ...run, task: { isStarted: false }, quiet: { forMs: 4_000 } };
  expect(nextTimeOut(both, of, limits, 8_100)).toBe(12_100);
  expect(nextTimeOut(both, of, limits, 12_100)).toBe(Infinity);
});
