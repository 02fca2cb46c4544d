import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import type { BalanceAnswer, GrantAnswer, RollCallResponse, TurnAnswer } from '../../workflows/messages';
import { bundleSource } from '../../workers/temporal/bundle';

/**
 * A worker was stopped in the middle of a turn, for longer than its workflow task may take, while
 * the run was told to look. The SDK went on with the run as it had it in memory: the signal came
 * during the turn. A replay has it before the turn, and must still do the same.
 */
Runtime.install({ logger: new DefaultLogger('ERROR') });

let workflowBundle: WorkflowBundle;
beforeAll(async () => {
  workflowBundle = await bundleWorkflowCode({ ...bundleSource(), logger: new DefaultLogger('ERROR') });
});

const json = (value: unknown) => ({
  metadata: { encoding: Buffer.from('json/plain').toString('base64') },
  data: Buffer.from(JSON.stringify(value)).toString('base64'),
});
const taskQueue = { name: 'm', kind: 'TASK_QUEUE_KIND_NORMAL' };
const time = { seconds: 1_795_836_411, nanos: 0 };

const turnOf = (activity_type: string, seq: number, answer: object, workflowTaskCompletedEventId: string) => ({
  eventType: 'EVENT_TYPE_MARKER_RECORDED',
  markerRecordedEventAttributes: {
    markerName: 'core_local_activity',
    details: {
      result: { payloads: [json(answer)] },
      data: {
        payloads: [
          json({
            ...{ seq, attempt: 1, activity_id: `${seq}`, activity_type, backoff: null },
            ...{ complete_time: time, original_schedule_time: time },
          }),
        ],
      },
    },
    workflowTaskCompletedEventId,
  },
});
const scheduled = {
  eventType: 'EVENT_TYPE_WORKFLOW_TASK_SCHEDULED',
  workflowTaskScheduledEventAttributes: { taskQueue, startToCloseTimeout: '15s', attempt: 1 },
};
const started = (scheduledEventId: string) => ({
  eventType: 'EVENT_TYPE_WORKFLOW_TASK_STARTED',
  workflowTaskStartedEventAttributes: { scheduledEventId, identity: 'stopped', historySizeBytes: '400' },
});

const numbered = (event: object, i: number) => ({
  ...{ eventId: `${i + 1}`, eventTime: '2026-11-28T03:26:55Z', taskId: `${100 + i}`, ...event },
});
const begun = (type: string, input: object) => ({
  eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
  workflowExecutionStartedEventAttributes: {
    ...{ workflowType: { name: type }, taskQueue, input: { payloads: [json(input)] }, workflowTaskTimeout: '15s' },
    ...{ originalExecutionRunId: 'run', firstExecutionRunId: 'run', attempt: 1, identity: 'test' },
  },
});
const signalled = {
  eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED',
  workflowExecutionSignaledEventAttributes: { signalName: 'look', input: {}, identity: 'test' },
};
const timedOut = (scheduledEventId: string, startedEventId: string) => ({
  eventType: 'EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT',
  workflowTaskTimedOutEventAttributes: {
    ...{ scheduledEventId, startedEventId, timeoutType: 'TIMEOUT_TYPE_START_TO_CLOSE' },
  },
});
const completed = (scheduledEventId: string, startedEventId: string) => ({
  eventType: 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED',
  workflowTaskCompletedEventAttributes: {
    ...{ scheduledEventId, startedEventId, identity: 'stopped' },
    sdkMetadata: { coreUsedFlags: [2, 1, 3], langUsedFlags: [2], sdkName: 'temporal-typescript' },
  },
});
const waitsFor = (timerId: string, workflowTaskCompletedEventId: string) => ({
  eventType: 'EVENT_TYPE_TIMER_STARTED',
  timerStartedEventAttributes: { timerId, startToFireTimeout: '5s', workflowTaskCompletedEventId },
});

const historyOf = (type: string, input: object, activity: string, answer: object, timerId: string) => ({
  events: [
    begun(type, input),
    signalled,
    scheduled,
    started('3'),
    timedOut('3', '4'),
    signalled,
    scheduled,
    started('7'),
    completed('7', '8'),
    turnOf(activity, 1, { ...answer, seen: { looks: 1, ended: 0 } }, '9'),
    turnOf(activity, 2, { ...answer, seen: { looks: 2, ended: 0 } }, '9'),
    waitsFor(timerId, '9'),
  ].map(numbered),
});

const waits = { deposed: false, epoch: 1, again: false, next: 'waiting', dueInMs: 5_000, heldBy: null } as const;
const claim: TurnAnswer = { ...waits, dispatch: null, lastReason: null };
const grant: GrantAnswer = { ...waits, submitters: [] };
const round: BalanceAnswer = {
  ...{ epoch: 1, partitions: 2, nodes: 1, held: 2, waiting: 0, moved: 0, last: [], dueInMs: 5_000 },
};
const rollCall: RollCallResponse = {
  ...{ next: 'wait', chunks: [], planned: false, round: 1, note: null, dueInMs: 5_000 },
  counts: { created: 0, inProgress: 1, done: 0, failed: 0, permanentlyFailed: 0 },
  settings: { rollCallMs: 1_000, requeueMs: 1_000, retryBaseMs: 1_000, leaseMs: 10_000 },
};

// An execution begins its wait before it sees that it was woken: no server saw its first timer.
test.each<[string, string, object, string, object, string]>([
  ['leader', 'm/leader/h/0', { leaderId: 1, handler: 'h', name: '0' }, 'claimBatches', claim, '1'],
  ['queuer', 'm/queuer/0', { queuerId: 0 }, 'grantLanes', grant, '1'],
  ['balancer', 'm/balancer', {}, 'balancePartitions', round, '1'],
  ['execution', 'm/execution/x', { executionId: 'x' }, 'rollCall', rollCall, '2'],
])('a %s that was told to look in the middle of a turn replays', async (type, id, input, activity, answer, timer) => {
  await Worker.runReplayHistory({ workflowBundle }, historyOf(type, input, activity, answer, timer), id);
});

/** The dispatch of the first turn ended in the middle of the second. */
const withEnd = () => {
  const first = { no: 1_000_001, batches: 1, tasks: 1, slots: 1 };
  const activityTaskStartedEventAttributes = { scheduledEventId: '7', identity: 'stopped', attempt: 1 };
  const activityTaskCompletedEventAttributes = {
    ...{ scheduledEventId: '7', startedEventId: '13', identity: 'stopped' },
    result: { payloads: [json({ batches: 1, tasks: 1, handedBack: 0, released: false })] },
  };
  return [
    begun('leader', { leaderId: 1, handler: 'h', name: '0' }),
    signalled,
    scheduled,
    started('3'),
    completed('3', '4'),
    turnOf('claimBatches', 1, { ...claim, dispatch: first, seen: { looks: 1, ended: 0 } }, '5'),
    {
      eventType: 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED',
      activityTaskScheduledEventAttributes: {
        ...{ activityId: '2', activityType: { name: 'submitBatches' }, taskQueue, workflowTaskCompletedEventId: '5' },
      },
    },
    waitsFor('1', '5'),
    signalled,
    scheduled,
    started('10'),
    timedOut('10', '11'),
    { eventType: 'EVENT_TYPE_ACTIVITY_TASK_STARTED', activityTaskStartedEventAttributes },
    { eventType: 'EVENT_TYPE_ACTIVITY_TASK_COMPLETED', activityTaskCompletedEventAttributes },
    scheduled,
    started('15'),
    completed('15', '16'),
    {
      eventType: 'EVENT_TYPE_TIMER_CANCELED',
      timerCanceledEventAttributes: { timerId: '1', startedEventId: '8', workflowTaskCompletedEventId: '17' },
    },
    turnOf('claimBatches', 3, { ...claim, seen: { looks: 2, ended: 0 } }, '17'),
    turnOf('claimBatches', 4, { ...claim, seen: { looks: 2, ended: 1 } }, '17'),
    waitsFor('3', '17'), // the second was not needed: a dispatch had ended
  ].map(numbered);
};

test('a leader whose dispatch ended in the middle of a turn replays', async () => {
  await Worker.runReplayHistory({ workflowBundle }, { events: withEnd() }, 'm/leader/h/0');
});
