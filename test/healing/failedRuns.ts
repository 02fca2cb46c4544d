import type { Client } from '@temporalio/client';

/**
 * Returns the runs of one installation that failed, with what they say. Left out: a run that found
 * a later one of itself, which is to fail.
 */
export const failedRuns = async (temporal: Client, prefix: string): Promise<string[]> => {
  const found: string[] = [];
  const query = `WorkflowId STARTS_WITH '${prefix}/' AND ExecutionStatus = 'Failed'`;
  for await (const { workflowId, runId, type } of temporal.workflow.list({ query })) {
    const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    const failure = events?.at(-1)?.workflowExecutionFailedEventAttributes?.failure;
    if (failure?.applicationFailureInfo?.type !== 'Deposed') found.push(`${type} ${workflowId}: ${failure?.message}`);
  }
  return found;
};
