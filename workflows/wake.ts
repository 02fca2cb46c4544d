import type { Client } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { HANDLER_ATTRIBUTE, lookSignal } from './definitions';
import {
  balancerWorkflowId,
  executionWorkflowId,
  leaderWorkflowId,
  monitorWorkflowId,
  notifierWorkflowId,
  queuerWorkflowId,
  workflowTaskQueue,
} from './naming';
import type { LeaderInput } from './contracts';

/** Starts or wakes our workflows, always by `signalWithStart`: a running one is told to look, a closed one starts, neither is missed. */

export interface WakeTarget {
  leaderId: number;
  handler: string;
  name: string;
  dueInMs: number;
}

/**
 * A worker that dies in a workflow task costs this before another takes over: half of the 30 s within which sending must go on. Not less,
 * although a turn is far shorter: on a starved machine a replay takes seconds, and each task that is lost to the timeout is begun anew.
 */
const WORKFLOW_TASK_TIMEOUT = '15s';

/** Starts in flight at once: 500 at a time overload a small server (temporal.md section 7). */
const PARALLEL = 16;

/**
 * Wakes leaders that a statement has already written as working or waiting. Failures are not thrown: the rows expire and the sweeper
 * wakes them again; the first one is answered, for the log.
 */
export const wakeLeaderWorkflows = async (
  temporal: Client,
  prefix: string,
  leaders: readonly WakeTarget[],
): Promise<Error | null> => {
  let failure: Error | null = null;
  const queue = [...leaders];
  const lane = async (): Promise<void> => {
    for (let leader = queue.shift(); leader !== undefined; leader = queue.shift()) {
      const input: Omit<LeaderInput, 'turnsPerRun'> = {
        leaderId: leader.leaderId,
        handler: leader.handler,
        name: leader.name,
        dueInMs: leader.dueInMs,
      };
      const start = (attributes: { typedSearchAttributes?: TypedSearchAttributes }): Promise<unknown> =>
        temporal.workflow.signalWithStart('leader', {
          workflowId: leaderWorkflowId(prefix, leader.handler, leader.name, leader.leaderId),
          taskQueue: workflowTaskQueue(prefix),
          args: [input],
          signal: lookSignal,
          signalArgs: [],
          workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
          staticSummary: `Leader of ${leader.handler}, set ${leader.name.slice(0, 100).replaceAll('\n', ' ')}`,
          ...attributes,
        });
      try {
        await start({ typedSearchAttributes: handlerAttribute(leader.handler) }).catch((error: unknown) => {
          // A server where nobody has registered it (workers do when they start): the leader matters, its filter in the Web UI does not.
          if (!/search attribute/i.test(reasonOf(error))) throw error;
          return start({});
        });
      } catch (error) {
        failure ??= error as Error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, leaders.length) }, lane));
  return failure;
};

const handlerAttribute = (handler: string): TypedSearchAttributes =>
  new TypedSearchAttributes([{ key: HANDLER_ATTRIBUTE, value: handler }]);
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as { message?: string; cause?: { message?: string } };
  return `${message} ${cause?.message}`;
};

const wakeOne = async (
  temporal: Client,
  workflow: string,
  workflowId: string,
  prefix: string,
  args: unknown[],
  summary: string,
): Promise<Error | null> => {
  try {
    await temporal.workflow.signalWithStart(workflow, {
      workflowId,
      taskQueue: workflowTaskQueue(prefix),
      args,
      signal: lookSignal,
      signalArgs: [],
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      staticSummary: summary,
    });
    return null;
  } catch (error) {
    return error as Error;
  }
};

export const wakeNotifier = (temporal: Client, prefix: string): Promise<Error | null> =>
  wakeOne(temporal, 'notifier', notifierWorkflowId(prefix), prefix, [], 'Delivers callbacks');

export const wakeBalancer = (temporal: Client, prefix: string): Promise<Error | null> =>
  wakeOne(temporal, 'balancer', balancerWorkflowId(prefix), prefix, [{}], 'Spreads partitions over the nodes');

export const wakeMonitor = (temporal: Client, prefix: string, handler: string): Promise<Error | null> =>
  wakeOne(
    temporal,
    'monitor',
    monitorWorkflowId(prefix, handler),
    prefix,
    [{ handler }],
    `Asks what became of accepted batches of ${handler}`,
  );

/** Starts or tells queuers to look, after a statement has written them as working. The first failure is answered, for the log: the sweeper wakes again. */
export const wakeQueuerWorkflows = async (
  temporal: Client,
  prefix: string,
  queuers: readonly { queuerId: number }[],
): Promise<Error | null> => {
  let failure: Error | null = null;
  for (const { queuerId } of queuers) {
    try {
      await temporal.workflow.signalWithStart('queuer', {
        workflowId: queuerWorkflowId(prefix, queuerId),
        taskQueue: workflowTaskQueue(prefix),
        args: [{ queuerId }],
        signal: lookSignal,
        signalArgs: [],
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        staticSummary: `Queuer of partition ${queuerId}`,
      });
    } catch (error) {
      failure ??= error as Error;
    }
  }
  return failure;
};

/**
 * Starts or tells the workflows of executions to look, some at a time. A run that is started by it waits `resumeAfterMs` first (E7). The first
 * failure is answered, for the log: the sweeper wakes again.
 */
export const wakeExecutions = async (
  temporal: Client,
  prefix: string,
  executionIds: readonly string[],
  resumeAfterMs = 0,
): Promise<Error | null> => {
  let failure: Error | null = null;
  const queue = [...executionIds];
  const lane = async (): Promise<void> => {
    for (let executionId = queue.shift(); executionId !== undefined; executionId = queue.shift()) {
      try {
        await temporal.workflow.signalWithStart('execution', {
          workflowId: executionWorkflowId(prefix, executionId),
          taskQueue: workflowTaskQueue(prefix),
          args: [{ executionId, resumeAfterMs }],
          signal: lookSignal,
          signalArgs: [],
          workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
          staticSummary: `Execution ${executionId}`,
        });
      } catch (error) {
        failure ??= error as Error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, executionIds.length) }, lane));
  return failure;
};
