import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  continueAsNew,
  proxyActivities,
  setHandler,
  setWorkflowOptions,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import { completeSignal } from './definitions';
import type { MonitorInput } from './definitions';
import { Inbox } from './inbox';
import { lookUntilIdle, upgradedWhileWaiting } from './looking';
import { handlerOfMonitor, handlerTaskQueue, monitorWorkflowId } from './naming';

setWorkflowOptions(upgradedWhileWaiting, monitor);

/**
 * Asks what became of the batches that a downstream accepted (H7): one workflow a handler, started
 * and told to look by the submission whose batch was accepted, and by the sweeper. Its activity
 * runs where the handler is: which batches, and when, is in the store. It also takes what is told
 * without being asked (`complete`) and hands each on to a workflow of its own.
 *
 * Anybody may start it or signal it, with anything. Its handler is therefore that of its id, and
 * its input, for people, is not read.
 */
export async function monitor(_input?: Partial<MonitorInput>): Promise<void> {
  const { taskQueue: prefix, workflowId } = workflowInfo();
  const handler = handlerOfMonitor(workflowId);
  if (handler === null)
    throw ApplicationFailure.nonRetryable(
      `Cannot monitor under the id ${workflowId}: expected ${monitorWorkflowId(prefix, '<handler>')} on the task queue ${prefix}.`,
    );
  const { pollAccepted } = proxyActivities<Activities>({
    taskQueue: handlerTaskQueue(prefix, handler),
    // A file of results takes as long as it takes; without a sign of life for 5 s its process is
    // dead.
    startToCloseTimeout: '2 hours',
    heartbeatTimeout: '5s', // ticks come every second
    // No worker serves the handler, or none has room: the run ends, and the sweeper begins the next
    // one when there is one that does.
    scheduleToStartTimeout: '1 minute',
    retry: { initialInterval: '200ms', maximumInterval: '1 minute' },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `accepted batches of ${handler}`,
  });
  const inbox = new Inbox(handler);
  setHandler(completeSignal, (told) => inbox.add(told), { description: 'What became of an accepted batch' });
  await lookUntilIdle(
    () => pollAccepted({ handler }).catch(nothingIfNotTaken),
    () => continueAsNew<typeof monitor>({ handler }),
    'next question',
    inbox,
  );
}

const nothingIfNotTaken = (error: unknown): { dueInMs: null } => {
  const { cause } = error instanceof ActivityFailure ? error : {};
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START') return { dueInMs: null };
  throw error;
};
