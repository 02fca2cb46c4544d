import type { Client as TemporalClient } from '@temporalio/client';
import type { RunPart } from '../../workflows/planning/explain/facts';
import { RUNNING, saysNoRun } from '../../workflows/planning/protocol';
import { loadClient } from '../connectTemporal';

/**
 * Longest wait for Temporal in milliseconds: `explain` answers even while Temporal is unreachable.
 */
const MOST_MS = 2_000;
/**
 * How many of the newest events of a history are read. They include the last failure of a workflow
 * task.
 */
const NEWEST = 20;

/**
 * Describes the run under this workflow id: its pending workflow task and that task's last failure.
 * Null: Temporal did not answer in time.
 */
export const describeRun = async (
  temporal: () => Promise<TemporalClient>,
  workflowId: string,
): Promise<RunPart | null> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), MOST_MS)));
  try {
    return await Promise.race([describe(temporal, workflowId), late]);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
};

const describe = async (connect: () => Promise<TemporalClient>, workflowId: string): Promise<RunPart> => {
  const temporal = await connect();
  const none = { workflowId, runId: null, attempt: null, lastFailure: null };
  return temporal.connection.withDeadline(Date.now() + MOST_MS, async () => {
    try {
      // Not by a handle: that decodes the memo, which this client may have no codec for.
      const { workflowExecutionInfo, pendingWorkflowTask } = await temporal.workflowService.describeWorkflowExecution({
        namespace: temporal.options.namespace,
        execution: { workflowId },
      });
      if (workflowExecutionInfo?.status !== RUNNING) return none;
      const runId = workflowExecutionInfo.execution!.runId!;
      const attempt = pendingWorkflowTask?.attempt ?? null;
      const lastFailure = attempt !== null && attempt > 1 ? await lastFailureOf(temporal, workflowId, runId) : null;
      return { workflowId, runId, attempt, lastFailure };
    } catch (error) {
      const { isGrpcServiceError } = loadClient();
      if (isGrpcServiceError(error) && saysNoRun(error)) return none;
      throw error;
    }
  });
};

const lastFailureOf = async (temporal: TemporalClient, workflowId: string, runId: string): Promise<string | null> => {
  const { history } = await temporal.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: temporal.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: NEWEST,
  });
  for (const event of history?.events ?? []) {
    const failed = event.workflowTaskFailedEventAttributes;
    if (failed != null) return failed.failure?.message ?? null;
    if (event.workflowTaskTimedOutEventAttributes != null) return 'no worker answered in time';
  }
  return null;
};
