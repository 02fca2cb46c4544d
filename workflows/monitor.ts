import {
  ActivityCancellationType,
  continueAsNew,
  proxyActivities,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { MonitorInput } from './definitions';
import { lookUntilIdle, upgradedWhileWaiting } from './looking';
import { handlerTaskQueue } from './naming';

setWorkflowOptions(upgradedWhileWaiting, monitor);

/**
 * Asks what became of the batches that a downstream accepted (H7): one workflow a handler, started and told to look by the submission
 * whose batch was accepted, and by the sweeper. Its activity runs where the handler is: which batches, and when, is in the store.
 */
export async function monitor({ handler }: MonitorInput): Promise<void> {
  const { pollAccepted } = proxyActivities<Activities>({
    taskQueue: handlerTaskQueue(workflowInfo().taskQueue, handler),
    // A file of results takes as long as it takes; without a sign of life for 5 s its process is dead.
    startToCloseTimeout: '2 hours',
    heartbeatTimeout: '5s', // ticks come every second
    retry: { initialInterval: '200ms', maximumInterval: '1 minute' },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `accepted batches of ${handler}`,
  });
  await lookUntilIdle(
    () => pollAccepted({ handler }),
    () => continueAsNew<typeof monitor>({ handler }),
    'next question',
  );
}
