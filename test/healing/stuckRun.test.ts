import { msToTs } from '@temporalio/common/lib/time';
import { isOwn } from '../../activities/grouping/reserve';
import type { RunFacts } from '../../workers/sweeper/stuckRun';
import {
  nextRestMs,
  quietOf,
  REST_AFTER_GONE_MS,
  sinceSeen,
  STUCK_LIMITS,
  whyStuck,
  workersOf,
} from '../../workers/sweeper/stuckRun';

/** Which silent run is stuck, and which is only slow; and whose turn a run may take. */

const run: RunFacts = {
  silentMs: 30_000,
  events: 200,
  taskMs: 0,
  taskTimeoutMs: 15_000,
  isOfOtherVersion: false,
  task: null,
  activities: 0,
  untaken: 0,
  isOfOneWorker: false,
  isHolderGone: false,
  areWorkersGone: false,
  quietMs: 0,
  hasForgotten: false,
  takesTurns: true,
};
const started = (attempt: number, taskMs = 0): Partial<RunFacts> => ({ task: { isStarted: true, attempt }, taskMs });
const untaken = (attempt: number, taskMs = 30_000): Partial<RunFacts> => ({
  task: { isStarted: false, attempt },
  taskMs,
});
const minute = { silentMs: 60_000 };

test.each<[string, Partial<RunFacts>, RegExp | null]>([
  ['waits, woken half a minute ago', {}, null],
  [
    'takes its turns beside an activity that the server keeps too long',
    { silentMs: 0, hasForgotten: true },
    /lost its timer/,
  ],
  ['waits, woken a minute ago', minute, /does nothing/],
  [
    'waits for a call, woken a minute ago: a leader takes its turn meanwhile',
    { ...minute, activities: 1 },
    /does nothing/,
  ],
  ['waits for its activity, as a monitor does', { ...minute, activities: 1, takesTurns: false }, null],
  [
    'waits for an activity that nobody takes up',
    { ...minute, activities: 1, untaken: 1, takesTurns: false },
    /no worker/,
  ],
  ['waits for two, one of them begun', { ...minute, activities: 2, untaken: 1, takesTurns: false }, null],
  ['its task waits for a worker, for an hour', { ...untaken(1), silentMs: 3_600_000 }, null],
  ['its task waits for one worker, which may be slow', { ...untaken(1, 7_000), isOfOneWorker: true }, null],
  ['its task waits for a worker that is gone', { ...untaken(1, 8_000), isOfOneWorker: true }, /that is gone/],
  [
    'the same of another version, with a call in flight',
    { ...untaken(1, 12_000), isOfOneWorker: true, isOfOtherVersion: true, activities: 1 },
    null,
  ],
  ['that worker has taken it, and is gone', { ...started(1, 4_000), isHolderGone: true }, /no sign of life/],
  [
    'the same of another version, with a call in flight elsewhere',
    { ...started(1, 4_000), isHolderGone: true, isOfOtherVersion: true, activities: 1 },
    null,
  ],
  ['that worker has taken it', { ...started(1, 8_000), isOfOneWorker: true }, null],
  ['a worker has had its task for as long as it may', started(1, 15_000), null],
  ['a worker has had its task for longer than a server lets it', started(1, 16_000), /than its timeout/],
  ['the same of another version', { ...started(1, 16_000), isOfOtherVersion: true, activities: 1 }, /than its timeout/],
  ['the same of a run that was given two minutes', { ...started(1, 16_000), taskTimeoutMs: 120_000 }, null],
  ['that long, too', { ...started(1, 121_000), taskTimeoutMs: 120_000 }, /than its timeout/],
  ['the same of a server that does not say how long', { ...started(1, 16_000), taskTimeoutMs: null }, null],
  ['the same of its fourth attempt, which is given more time', started(4, 16_000), null],
  [
    'its activity was begun by a worker that is gone',
    { activities: 1, quietMs: 8_000, takesTurns: false },
    /no sign of life/,
  ],
  ['the same, not for long', { activities: 1, quietMs: 7_000, takesTurns: false }, null],
  ['the same of a leader', { activities: 1, quietMs: 8_000 }, null],
  [
    'the same, while it is signalled all the time',
    { ...started(1), activities: 1, quietMs: 8_000, takesTurns: false },
    /its activities give no sign of life/,
  ],
  [
    'its activity is with a worker whose own signs of life have ended',
    { ...untaken(1, 0), silentMs: 9_000, activities: 1, areWorkersGone: true, takesTurns: false },
    /the workers of its activities/,
  ],
  ['the same of a leader, which has them taken by others', { activities: 1, areWorkersGone: true }, null],
  [
    'a monitor’s long history is not replayed in time',
    { ...untaken(1, 5_000), takesTurns: false },
    /its history is long/,
  ],
  ['the same, taken by a worker', { ...started(1, 5_000), takesTurns: false }, /its history is long/],
  ['the same, with an activity that gives signs', { ...started(1, 5_000), activities: 1, takesTurns: false }, null],
  [
    'the same, with an activity whose sign is late',
    { ...started(1, 5_000), activities: 1, quietMs: 1, takesTurns: false },
    /its history is long/,
  ],
  ['the same, just taken', { ...started(1, 3_000), takesTurns: false }, null],
  ['the same, only now silent', { ...started(1, 5_000), silentMs: 9_000, takesTurns: false }, null],
  ['a short history', { ...started(1, 5_000), events: 159, takesTurns: false }, null],
  ['a long one of a leader, which its turns tell', started(1, 5_000), null],
  ['its task timed out once', { ...minute, ...untaken(2) }, null],
  ['its task timed out twice, in half a minute', started(3), null],
  ['its task timed out twice, in a minute', { ...minute, ...started(3) }, /failed or timed out 2 times/],
  ['its task failed four times, at once', { silentMs: 4_000, ...untaken(5) }, /failed or timed out 4 times/],
  ['its turn has taken a minute', { ...minute, ...started(1) }, null],
  ['its turn has taken two minutes', { silentMs: 120_000, ...started(1) }, /does not end/],
  ['of another version, taken up', { isOfOtherVersion: true, ...started(1) }, null],
  ['of another version, just scheduled', { isOfOtherVersion: true, ...untaken(1, 3_000) }, null],
  ['of another version, not taken up', { isOfOtherVersion: true, ...untaken(1, 4_000) }, /its version/],
  ['the same with a call in flight', { isOfOtherVersion: true, activities: 1, ...untaken(1, 4_000) }, null],
  ['the same for a minute', { ...minute, isOfOtherVersion: true, activities: 1, ...untaken(1, 60_000) }, /its version/],
])('%s', (_what, facts, expected) => {
  const why = whyStuck({ ...run, ...facts }, STUCK_LIMITS);
  if (expected === null) expect(why).toBeNull();
  else expect(why).toMatch(expected);
});

test('where one failure is enough, it is told as one', () => {
  const why = whyStuck({ ...run, ...untaken(2) }, { ...STUCK_LIMITS, attempts: 2 });
  expect(why).toBe('its workflow task failed or timed out once');
});

const heartbeats = { activityOptions: { heartbeatTimeout: msToTs(5_000) } };
const due = { activityId: '1', state: 1, attempt: 2 };
const held = {
  ...{ activityId: '5', state: 2, attempt: 1, lastStartedTime: msToTs(1_000), lastHeartbeatTime: msToTs(3_000) },
  ...heartbeats,
};

test('workers have activities that have begun, also where the next attempt waits', () => {
  const of = (worker: string, state = 2) => ({ ...held, state, lastWorkerIdentity: worker });
  expect(workersOf([of('a'), of('b', 3), of('a')])).toEqual(['a', 'b']);
  expect(workersOf([])).toBeNull();
  expect(workersOf([of('a'), { ...due, lastWorkerIdentity: 'b' }])).toEqual(['a', 'b']);
  expect(workersOf([of('a'), { ...due, attempt: 1, lastWorkerIdentity: 'b' }])).toBeNull();
  expect(workersOf([{ ...due, paused: true, lastWorkerIdentity: 'b' }])).toBeNull(); // by an operator
  expect(workersOf([of('a'), held])).toBeNull(); // a server that names no worker
});

test('activities are the same without a new sign, in whichever order a server names them', () => {
  expect(quietOf([held, due])).toEqual(quietOf([due, held]));
  expect(quietOf([due, held])).toEqual({ what: '1 2,5 1 3000', forMs: 5_000 });
  expect(quietOf([due])).toEqual({ what: '1 2', forMs: 4_000 });
  expect(quietOf([{ ...held, lastHeartbeatTime: null }])).toEqual({ what: '5 1 1000', forMs: 5_000 });
  expect(quietOf([{ ...held, state: 3 }])).toEqual(quietOf([held])); // its cancellation was requested
});

test.each<[string, Parameters<typeof quietOf>[0][number]]>([
  ['waits for its first worker', { ...due, attempt: 1 }],
  ['is not due again', { ...due, nextAttemptScheduleTime: msToTs(9_000) }],
  ['is paused', { ...held, state: 4 }],
  ['is paused, as older servers say it', { ...due, paused: true }],
  ['gives no heartbeats', { ...held, activityOptions: {} }],
  ['is with a server that does not tell of heartbeats', { ...held, activityOptions: null }],
])('no sign is due where one activity %s', (_what, activity) => {
  expect(quietOf([activity, held])).toBeNull();
  expect(quietOf([])).toBeNull();
});

test('what waits is counted from its first look, and another task from then on', () => {
  const first = sinceSeen(null, 'at 1', 1_000);
  expect(first).toEqual({ what: 'at 1', since: 1_000 });
  expect(sinceSeen(first, 'at 1', 9_000)).toBe(first);
  expect(sinceSeen(first, 'at 2', 9_000)).toEqual({ what: 'at 2', since: 9_000 });
  expect(sinceSeen(first, null, 9_000)).toBeNull();
});

test.each([
  ['the first time', 0, Infinity, 30_000, undefined],
  ['again soon after', 30_000, 60_000, 60_000, undefined],
  ['again after a time without trouble', 60_000, 120_001, 30_000, undefined],
  ['again and again', 1_500_000, 0, 1_800_000, undefined],
  ['whose worker was gone', 0, Infinity, 5_000, REST_AFTER_GONE_MS],
  ['whose worker was gone, and the next one, too', 5_000, 6_000, 10_000, REST_AFTER_GONE_MS],
  ['for another reason after its worker was gone', 5_000, 6_000, 30_000, undefined],
])('a workflow that was begun anew %s is left alone for a while', (_when, lastMs, sinceLastMs, expected, firstMs) => {
  expect(nextRestMs(lastMs, sinceLastMs, firstMs)).toBe(expected);
});

const row = { handler: 'orders', name: '0', installation: 'here' };
test.each<[string, Parameters<typeof isOwn>[1], boolean]>([
  ['the same leader', row, true],
  ['a run begun before runs said who they are', {}, true],
  ['another handler has the number', { ...row, handler: 'letters' }, false],
  ['another set of targets has the number', { ...row, name: '1' }, false],
  ['another store has such a leader, too', { ...row, installation: 'there' }, false],
])('a turn is the run’s own or not: %s', (_what, input, expected) => {
  expect(isOwn(row, input)).toBe(expected);
});
