import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { allScenarios } from './allScenarios';

/**
 * A stored history is worth its replay only while it still takes the path that its scenario is
 * named for: one that was recorded again, and ended before it came there, replays as well.
 */
interface Event {
  eventType: string;
  activityTaskScheduledEventAttributes?: { activityType: { name: string } };
  workflowExecutionSignaledEventAttributes?: { signalName: string };
  workflowExecutionStartedEventAttributes?: { continuedExecutionRunId?: string };
  markerRecordedEventAttributes?: { markerName: string; details: Record<string, { payloads: { data: string }[] }> };
}

/** Says what an event is, as the table below does. */
const nameOf = (event: Event): string => {
  const { activityTaskScheduledEventAttributes: scheduled, markerRecordedEventAttributes: marker } = event;
  const type = event.eventType.replace('EVENT_TYPE_', '').replace('WORKFLOW_EXECUTION_', '').toLowerCase();
  if (scheduled !== undefined) return scheduled.activityType.name;
  const signalled = event.workflowExecutionSignaledEventAttributes;
  if (signalled !== undefined) return `signal ${signalled.signalName}`;
  if (marker?.markerName === 'core_patch') return 'patched';
  if (marker !== undefined) return localActivityOf(marker.details);
  const isNext = (event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '') !== '';
  return isNext ? 'continued' : type;
};
const localActivityOf = ({ data }: NonNullable<Event['markerRecordedEventAttributes']>['details']): string =>
  (JSON.parse(Buffer.from(data!.payloads[0]!.data, 'base64').toString()) as { activity_type: string }).activity_type;

const FOLDER = path.join(__dirname, 'histories');
/** Counts each event in the histories of a path, per type of workflow: in the one with most. */
const eventsOf = (scenario: string): Record<string, Record<string, number>> => {
  const most: Record<string, Record<string, number>> = {};
  for (const file of readdirSync(FOLDER).filter((name) => name.split('.')[0] === scenario)) {
    const { events } = JSON.parse(readFileSync(path.join(FOLDER, file), 'utf8')) as { events: Event[] };
    const counts: Record<string, number> = {};
    for (const name of events.map(nameOf)) counts[name] = (counts[name] ?? 0) + 1;
    const of = (most[file.split('.')[1]!] ??= {});
    for (const [name, n] of Object.entries(counts)) of[name] = Math.max(of[name] ?? 0, n);
  }
  return most;
};

/** What must be there at least so often; 0: what must not be there. */
const PATHS: Record<string, Record<string, Record<string, number>>> = {
  'linger-flush': { leader: { timer_fired: 1, claimBatches: 1, submitBatches: 1 } },
  'worker-stopping': { leader: { claimBatches: 2, timer_fired: 1, submitBatches: 1, failed: 0 } },
  'size-flush': { leader: { timer_started: 0, claimBatches: 1, submitBatches: 1 } },
  retry: { leader: { timer_fired: 2, submitBatches: 2 } },
  bisect: { leader: { submitBatches: 3 } },
  'woken-while-waiting': { leader: { 'signal look': 2, timer_canceled: 1, timer_fired: 0, submitBatches: 1 } },
  'back-pressure': { leader: { timer_fired: 2, submitBatches: 2 } },
  'cancel-and-idle': { leader: { timer_fired: 1, claimBatches: 1, submitBatches: 0, completed: 1 } },
  'pause-resume': { leader: { 'signal look': 2, timer_canceled: 1, submitBatches: 1 } },
  'continue-as-new': { leader: { continued_as_new: 1, continued: 1, submitBatches: 2 } },
  'dispatch-lost': { leader: { activity_task_timed_out: 1, submitBatches: 2 } },
  'dispatch-failed': { leader: { activity_task_failed: 1, submitBatches: 2 } },
  'step-down-race': { leader: { 'signal look': 2, submitBatches: 2, completed: 1 } },
  callback: { leader: { submitBatches: 1 }, notifier: { deliverNotifications: 1 } },
  'accepted-and-polled': { leader: { submitBatches: 1 }, monitor: { pollAccepted: 3, timer_fired: 2 } },
  'calls-end-during-turn': { leader: { claimBatches: 7, submitBatches: 5 } },
  'lane-serial': { queuer: { grantLanes: 6, submitBatches: 1 } },
  'lane-retry': { queuer: { submitBatches: 4, timer_fired: 3 } },
  'lane-halt-and-skip': { queuer: { grantLanes: 3, submitBatches: 1 } },
  'lane-submitter-failed': { queuer: { activity_task_failed: 1, submitBatches: 2 } },
  'lane-accepted': { queuer: { submitBatches: 1 }, monitor: { pollAccepted: 3, timer_fired: 2 } },
  'lane-continue-as-new': { queuer: { continued_as_new: 1, continued: 1, submitBatches: 1 } },
  'execution-done': { execution: { rollCall: 1, workOrderBatch: 1, completed: 1 } },
  'execution-retry': { execution: { rollCall: 2, workOrderBatch: 2 } },
  'execution-undelivered': { execution: { activity_task_timed_out: 1, workOrderBatch: 3 } },
  'execution-no-nodes-and-cancel': { execution: { rollCall: 3, timer_canceled: 1, workOrderBatch: 0 } },
  'execution-cancel-while-running': { execution: { workOrderBatch: 1, activity_task_cancel_requested: 1 } },
  'execution-continue-as-new': { execution: { continued_as_new: 1, continued: 1, workOrderBatch: 1, timer_fired: 1 } },
  'partition-served': { balancer: { balancePartitions: 3 }, leader: { submitBatches: 1 } },
  'partition-handover': { balancer: { balancePartitions: 11, timer_fired: 4 } },
  'partition-continue-as-new': { balancer: { continued_as_new: 1, continued: 1, balancePartitions: 1 } },
  'signals-read': {
    monitor: { 'signal complete': 2, takeSignalled: 1 },
    completion: { knowsHandler: 1, completeAccepted: 1 },
  },
  'signals-carried': { monitor: { 'signal complete': 1, takeSignalled: 1 } },
  'monitor-terminated': {
    monitor: { 'signal complete': 1, terminated: 1 },
    completion: { knowsHandler: 1, takeSignalled: 1 },
  },
  'user-one': { user: { submitTasks: 1, 'signal musterTasksEnded': 1 } },
  'user-in-turn': { user: { submitTasks: 3, 'signal musterTasksEnded': 3, patched: 1 } },
  'user-in-turn-hourly': { user: { submitTasks: 3, timer_started: 3, patched: 0 } },
  'user-side-by-side': { user: { submitTasks: 3, 'signal musterTasksEnded': 1, patched: 1 } },
  'user-side-by-side-hourly': { user: { submitTasks: 3, timer_started: 3, patched: 0 } },
  'user-foreign': { user: { readTaskEnds: 2, timer_fired: 2, 'signal musterTasksEnded': 1 } },
  'user-continued': { user: { continued_as_new: 1, continued: 1, 'signal musterTasksEnded': 1 } },
};

test('every path says what its histories must contain', () => {
  const stored = readdirSync(FOLDER).map((file) => file.split('.')[0]!);
  const named = new Set([...stored, ...allScenarios.map(({ name }) => name)]);
  expect(Object.keys(PATHS).sort()).toEqual([...named].sort());
});

test.each(Object.keys(PATHS))('the histories of %s take its path', (scenario) => {
  const found = eventsOf(scenario);
  for (const [type, events] of Object.entries(PATHS[scenario]!))
    for (const [event, least] of Object.entries(events)) {
      const n = found[type]?.[event] ?? 0;
      expect([type, event, least === 0 ? n === 0 : n >= least, n]).toEqual([type, event, true, n]);
    }
});
