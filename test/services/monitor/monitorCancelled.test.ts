import { WorkflowNotFoundError } from '@temporalio/client';
import type { ItemResult } from '../../../handlers';
import { lookSignal } from '../../../workflows/definitions';
import { monitorWorkflowId } from '../../../workflows/naming';
import { eventually } from '../../helpers/eventually';
import {
  accept,
  accepted,
  all,
  asked,
  become,
  behave,
  errorOf,
  muster,
  oks,
  query,
  script,
  startAccepting,
  states,
  stopAccepting,
} from './accepting';

/**
 * A monitor's activity in the history of its run, and what becomes of it where an operator cancels
 * the run in the Web UI in the middle of it.
 *
 * @slow
 */

beforeAll(startAccepting);
afterAll(stopAccepting);
afterEach(behave);

const openRun = async (handler: string) => {
  const { workflow } = await muster().client.temporal();
  const { runId, workflowId } = await workflow.getHandle(monitorWorkflowId(muster().prefix, handler)).describe();
  return workflow.getHandle(workflowId, runId);
};
const ignoreNotFound = (error: unknown): null => {
  if (error instanceof WorkflowNotFoundError) return null;
  throw error;
};
/** Cancels the run in which something of the reference is under way, which ends by that. */
const cancel = async (handler: string): Promise<void> => {
  const run = await openRun(handler);
  await run.cancel();
  await eventually(async () => (await run.describe()).status.name === 'CANCELLED', { what: 'the run to be cancelled' });
};
const timesAsked = (reference: string): number => asked.filter((references) => references.includes(reference)).length;

test('a look that no worker takes is given up after a minute, one without a sign of life after 5 s', async () => {
  const reference = await accept('plain', 'limits');
  const scheduled = await eventually(async () => {
    // The wake that starts it may come later than the acceptance.
    const run = await openRun('plain').catch(ignoreNotFound);
    if (run === null) return null;
    const { events } = await run.fetchHistory();
    return events!.find(({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name === 'pollAccepted');
  });
  const { scheduleToStartTimeout, heartbeatTimeout } = scheduled.activityTaskScheduledEventAttributes!;
  expect([Number(scheduleToStartTimeout?.seconds), Number(heartbeatTimeout?.seconds)]).toEqual([60, 5]);
  accepted.get(reference)!.status = 'done';
  await become('limits', all('limits', 'succeeded 1'));
});

test('cancelled while it asks: the next run asks again, and nothing is parked', async () => {
  let answer = (): void => undefined;
  script.hold = new Promise((resolve) => (answer = resolve));
  const reference = await accept('plain', 'asking');
  await eventually(() => timesAsked(reference) > 0, { what: 'the question' });
  const before = timesAsked(reference);
  await cancel('plain');
  expect([await states('asking'), await errorOf('asking')]).toEqual([all('asking', 'in-progress 0'), null]);
  accepted.get(reference)!.status = 'done';
  script.hold = Promise.resolve();
  await become('asking', all('asking', 'succeeded 1'));
  expect(timesAsked(reference)).toBeGreaterThan(before);
  answer();
});

test('cancelled while it reads results: they are read again from the start, once for each task', async () => {
  const reference = await accept('plain', 'reading');
  let reads = 0;
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const results = async function* (): AsyncGenerator<ItemResult> {
    reads++;
    yield* oks(['reading-2']);
    if (reads === 1) await held;
    yield* oks(['reading-0', 'reading-1']);
  };
  Object.assign(accepted.get(reference)!, { status: 'done', results });
  await eventually(() => reads > 0, { what: 'the first result' });
  await cancel('plain');
  await become('reading', all('reading', 'succeeded 1'));
  expect(reads).toBe(2);
  goOn();
});

test('cancelled while it looks up a lost one: it is looked up again, and not parked', async () => {
  let lookUps = 0;
  let answer = (): void => undefined;
  const held = new Promise<void>((resolve) => (answer = resolve));
  script.reconciled = async ({ target, tasks }) => {
    if (target !== 'looked-up') return { status: 'unsure' };
    if (++lookUps === 1) await held;
    return { status: 'done', results: oks(tasks.map(({ id }) => id)) };
  };
  accepted.get(await accept('finder', 'looked-up'))!.status = 'lost';
  await eventually(() => lookUps > 0, { what: 'the look-up' });
  await cancel('finder');
  await become('looked-up', all('looked-up', 'succeeded 1'));
  expect(lookUps).toBe(2);
  answer();
});

test('cancelled while it asks a downstream that is asked once an hour: the next run asks again at once', async () => {
  const reference = await accept('rare', 'hourly');
  script.hold = new Promise(() => undefined); // each call ends by its cancellation
  const due = `update batch set poll_at = clock() where reference = $1`;
  await query(due, [reference]);
  const { workflow } = await muster().client.temporal();
  const monitor = workflow.getHandle(monitorWorkflowId(muster().prefix, 'rare'));
  // Nobody waits for the wake that starts it: it may come after the acceptance is written.
  const told = (): Promise<boolean> =>
    monitor.signal(lookSignal).then(
      () => true,
      () => false,
    );
  await eventually(told, { what: 'a monitor' });
  await eventually(() => timesAsked(reference) > 0, { what: 'the question' });
  script.hold = Promise.resolve();
  accepted.get(reference)!.status = 'done';
  await cancel('rare');
  await become('hourly', all('hourly', 'succeeded 1'));
});
