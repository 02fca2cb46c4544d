import { ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities';
import { MAX_BACKOFF } from './loops/backOff';
import { workflowTaskQueue } from './naming';

/**
 * Returns Muster's activities for a user's own workflow. They run in Muster's workers, on their
 * task queue, and may be repeated safely. The Web UI shows `summary` beside each.
 */
export const musterActivities = (
  prefix: string,
  startToCloseTimeout: '1 minute' | '5 minutes',
  summary: string,
): ReturnType<typeof proxyActivities<Activities>> =>
  proxyActivities<Activities>({
    taskQueue: workflowTaskQueue(prefix),
    startToCloseTimeout,
    retry: { initialInterval: '500ms', maximumInterval: MAX_BACKOFF },
    summary,
  });

/**
 * Waits for an activity. If the activity was refused, throws the refusal itself in place of the
 * SDK's "activity task failed" around it.
 */
export const orRefusal = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : error;
  }
};
