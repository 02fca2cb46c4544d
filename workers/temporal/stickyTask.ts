import type { Client } from '@temporalio/client';

/** `temporal.api.enums.v1.TASK_QUEUE_KIND_STICKY`. */
const STICKY = 2;
/** Events per page: a signal may have a megabyte. Those since the task are signals. */
const PAGE = 10;
const MOST_PAGES = 20;

/**
 * Says whether the pending workflow task of a run was scheduled for the one worker that has the run
 * in memory, as the newest events of its history have it; null: they cannot be read.
 */
export const isForOneWorker = async (
  { workflowService, options: { namespace } }: Client,
  execution: { workflowId: string; runId: string },
): Promise<boolean | null> => {
  let nextPageToken: Uint8Array | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await workflowService
      .getWorkflowExecutionHistoryReverse({
        ...{ namespace, execution, maximumPageSize: PAGE },
        ...(nextPageToken === undefined ? {} : { nextPageToken }),
      })
      .catch(() => null);
    if (answer === null) return null;
    for (const { workflowTaskScheduledEventAttributes: scheduled } of answer.history?.events ?? [])
      if (scheduled != null) return scheduled.taskQueue?.kind === STICKY;
    nextPageToken = answer.nextPageToken;
    if (nextPageToken == null || nextPageToken.length === 0) return false;
  }
  return false;
};
