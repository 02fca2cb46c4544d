import {
  ActivityCancellationType,
  ApplicationFailure,
  continueAsNew,
  proxyActivities,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import { MAX_BACKOFF } from './loops/backOff';
import { completeSignal } from './definitions';
import type { MonitorInput, PollAnswer } from './definitions';
import { lookUntilIdle } from './loops/lookLoop';
import { handlerOfMonitor, handlerTaskQueue, monitorWorkflowId } from './naming';
import { monitorStart } from './planning/webUi/starts';
import { isLateStart } from './loops/startLimits';
import { Signals } from './signals/signals';
import { upgradedWhileWaiting } from './versioning';

setWorkflowOptions(upgradedWhileWaiting, monitor);

/**
 * Polls the batches that the downstream of one handler has accepted. The dispatch whose batch was
 * accepted starts it, or tells it to look, and so does the sweeper. Its activity runs in a worker
 * that has the handler, and reads from the store which batches are to be polled and when. It also
 * takes completions that are signalled to it (`complete`).
 *
 * Anyone may start or signal a monitor, with any input. The handler is therefore taken from the
 * workflow id, and of the input only `unread` is used, which a run that continued as new has left.
 */
export async function monitor(input?: Partial<MonitorInput>): Promise<void> {
  const { taskQueue: prefix, workflowId } = workflowInfo();
  const handler = handlerOfMonitor(workflowId);
  if (handler === null)
    throw ApplicationFailure.nonRetryable(
      `Cannot monitor under the id ${workflowId}: expected ${monitorWorkflowId(prefix, '<handler>')} on the task queue ${prefix}.`,
    );
  const { pollAccepted } = proxyActivities<Activities>({
    taskQueue: handlerTaskQueue(prefix, handler),
    // Reading results may take long. Without a heartbeat for 5 s the process counts as dead.
    startToCloseTimeout: '2 hours',
    heartbeatTimeout: '5s', // ticks come every second
    // If no worker serves the handler, or none has room, the run ends, and the sweeper starts the
    // next run once a worker serves the handler.
    scheduleToStartTimeout: '1 minute',
    retry: { initialInterval: '200ms', maximumInterval: MAX_BACKOFF },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `accepted batches of ${handler}`,
  });
  const signals = new Signals(handler, input);
  setHandler(completeSignal, () => signals.add(), { description: 'What became of an accepted batch' });
  await lookUntilIdle(
    async () => {
      const { dueInMs, lastError, asked, settled } = await pollAccepted({ handler }).catch(nothingIfNotTaken);
      return { dueInMs, lastError, did: { asked, settled } };
    },
    () => continueAsNew<typeof monitor>({ handler, unread: signals.carried() }),
    { title: `Monitor of ${handler}`, waitsFor: 'next question', start: monitorStart(handler) },
    signals,
  );
}

const nothingIfNotTaken = (error: unknown): PollAnswer => {
  if (isLateStart(error))
    return { asked: 0, settled: 0, dueInMs: null, lastError: 'no worker took its look within a minute' };
  throw error;
};
