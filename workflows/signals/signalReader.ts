import { ActivityCancellationType, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { MAX_BACKOFF } from '../loops/backOff';
import { handlerTaskQueue } from '../naming';

/**
 * Returns the activity that reads completions from the histories of a monitor, on the task queue of
 * its handler.
 */
export const signalReader = (
  handler: string,
  limits: { scheduleToStartTimeout?: '24 hours' } = {},
): Pick<ReturnType<typeof proxyActivities<Activities>>, 'takeSignalled'> =>
  proxyActivities<Activities>({
    taskQueue: handlerTaskQueue(workflowInfo().taskQueue, handler),
    startToCloseTimeout: '10 minutes', // it ends by itself after seconds
    heartbeatTimeout: '10s', // ticks come every second
    retry: { initialInterval: '200ms', maximumInterval: MAX_BACKOFF },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `completions of ${handler}`,
    ...limits,
  });
