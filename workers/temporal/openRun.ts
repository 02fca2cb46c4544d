import type { Client } from '@temporalio/client';
import type { Timestamp } from '@temporalio/common/lib/time';
import { optionalTsToMs } from '@temporalio/common/lib/time';

/** `temporal.api.enums.v1`: VERSIONING_BEHAVIOR_PINNED, PENDING_WORKFLOW_TASK_STATE_STARTED. */
const PINNED = 1;
const STARTED = 2;

/** The newest run of a workflow, as the server describes it. */
export interface DescribedRun {
  /** `temporal.api.enums.v1.WorkflowExecutionStatus`. */
  status: number;
  runId: string;
  /**
   * By the clocks of server and process, which may differ: an upper bound for how long it can have
   * been silent.
   */
  ageMs: number;
  /** Length of its history. */
  events: number;
  /** The version that it is pinned to; null: none. */
  version: { deploymentName: string; buildId: string } | null;
  /** How long a worker may have one of its first workflow tasks; null: the server does not say. */
  taskTimeoutMs: number | null;
  task: DescribedTask | null;
  activities: readonly DescribedActivity[];
}

/**
 * The pending workflow task of a run. Its times tell it from the next, and mean nothing here, since
 * they are the server's.
 */
export interface DescribedTask {
  isStarted: boolean;
  attempt: number;
  scheduledAt: number | null;
  startedAt: number | null;
}

/** An activity in flight. */
export interface DescribedActivity {
  activityId?: string | null;
  state?: number | null;
  attempt?: number | null;
  paused?: boolean | null;
  /** When a worker may take it up again, as long as that lies ahead. */
  nextAttemptScheduleTime?: Timestamp | null;
  lastStartedTime?: Timestamp | null;
  lastHeartbeatTime?: Timestamp | null;
  /** Of the worker that took it up last. */
  lastWorkerIdentity?: string | null;
  /** Absent in answers of servers that do not know it. */
  activityOptions?: { heartbeatTimeout?: Timestamp | null; scheduleToStartTimeout?: Timestamp | null } | null;
}

/** Asks for the newest run of a workflow. Rejects as the server does, if there is none. */
export const askForRun = async (client: Client, workflowId: string): Promise<DescribedRun> => {
  // Not by a handle: that decodes the memo, which no codec of today may be able to.
  const raw = await client.workflowService.describeWorkflowExecution({
    namespace: client.options.namespace,
    execution: { workflowId },
  });
  const { status, versioningInfo, execution, startTime, historyLength } = raw.workflowExecutionInfo ?? {};
  const { pendingWorkflowTask: task, executionConfig } = raw;
  const version = versioningInfo?.behavior === PINNED ? versioningInfo.deploymentVersion : null;
  return {
    status: status ?? 0,
    runId: execution!.runId!,
    ageMs: Math.max(0, Date.now() - Number(startTime?.seconds ?? 0) * 1000),
    events: Number(historyLength ?? 0),
    version: version == null ? null : { deploymentName: version.deploymentName!, buildId: version.buildId ?? '' },
    taskTimeoutMs: optionalTsToMs(executionConfig?.defaultWorkflowTaskTimeout) ?? null,
    task:
      task == null
        ? null
        : {
            isStarted: task.state === STARTED,
            attempt: task.attempt ?? 1,
            scheduledAt: optionalTsToMs(task.scheduledTime) ?? null,
            startedAt: optionalTsToMs(task.startedTime) ?? null,
          },
    activities: raw.pendingActivities ?? [],
  };
};
