import { TypedSearchAttributes, WorkflowNotFoundError } from '@temporalio/common';
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
import type { LeaderInput } from './messages';
import type { Requests } from './temporal/requests';
import { sendAll } from './temporal/requests';
import type { ShownStart } from './planning/webUi/starts';
import {
  balancerStart,
  executionStart,
  leaderStart,
  monitorStart,
  notifierStart,
  queuerStart,
} from './planning/webUi/starts';
import { NOTIFIER_RUN } from './planning/looks';
import { BEFORE_LEADERS } from './priorities';

/**
 * Starts or wakes Muster's workflows, always by `signalWithStart`: a running workflow is told to
 * look, and a closed one is started, so that none is missed.
 */

export interface WakeTarget {
  leaderId: number;
  handler: string;
  name: string;
  installation?: string;
  dueInMs: number;
}

/**
 * How long the workflow task of a worker that dies waits until the server gives it to another, if
 * no sweeper has begun the run anew before: half of the 30 s within which sending must continue. It
 * is not shorter, although a turn is: on a starved machine a replay takes seconds, and a workflow
 * task that exceeds the timeout starts again from the beginning.
 */
const WORKFLOW_TASK_TIMEOUT = '15s';

export interface RunToEnd {
  workflowId: string;
  runId: string;
  reason: string;
}

/**
 * Terminates the runs that are open, and returns those. Failures are not thrown; the first one is
 * returned, for the log.
 */
export const terminateRuns = async (
  requests: Requests,
  runs: readonly RunToEnd[],
): Promise<{ ended: RunToEnd[]; failure: Error | null }> => {
  const ended: RunToEnd[] = [];
  const failure = await sendAll(runs, async (run) => {
    try {
      await requests.send({ kind: 'terminate' }, (temporal) =>
        temporal.workflow.getHandle(run.workflowId, run.runId).terminate(run.reason),
      );
      ended.push(run);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error; // it has ended by itself
    }
  });
  return { ended, failure };
};

/**
 * Wakes leaders that a statement has already written as working or waiting. Failures are not
 * thrown, since the rows expire and the sweeper repeats the wakes; the first one is returned, for
 * the log.
 */
export const wakeLeaderWorkflows = (
  requests: Requests,
  prefix: string,
  leaders: readonly WakeTarget[],
): Promise<Error | null> =>
  sendAll(leaders, async (leader) => {
    const input: Omit<LeaderInput, 'turnsPerRun'> = {
      leaderId: leader.leaderId,
      handler: leader.handler,
      name: leader.name,
      installation: leader.installation,
      dueInMs: leader.dueInMs,
    };
    const start: Start = (attributes) =>
      requests.send({ kind: 'leader', handler: leader.handler }, (temporal) =>
        temporal.workflow.signalWithStart('leader', {
          workflowId: leaderWorkflowId(prefix, leader.handler, leader.name, leader.leaderId),
          taskQueue: workflowTaskQueue(prefix),
          args: [input],
          signal: lookSignal,
          signalArgs: [],
          workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
          ...leaderStart(leader),
          ...attributes,
        }),
      );
    return withHandler(requests, leader.handler, start);
  });

/**
 * How many milliseconds wakes are sent without the search attribute after a server has refused it,
 * since each wake would be sent twice otherwise. Then it is tried again: an operator may have
 * registered it meanwhile.
 */
const REFUSED_MS = 300_000;
type Start = (attributes: { typedSearchAttributes?: TypedSearchAttributes }) => Promise<unknown>;

/**
 * Starts a workflow of a handler with the search attribute, so that the Web UI finds it by its
 * handler.
 */
const withHandler = async (requests: Requests, handler: string, start: Start): Promise<unknown> => {
  if (performance.now() - requests.attributeRefusedAt < REFUSED_MS) return start({});
  try {
    return await start({ typedSearchAttributes: handlerAttribute(handler) });
  } catch (error) {
    // The server lacks the search attribute, which workers register when they start. Start the run
    // without it: only the filter in the Web UI is lost.
    if (!/search attribute/i.test(reasonOf(error))) throw error;
    requests.attributeRefusedAt = performance.now();
    return start({});
  }
};

const handlerAttribute = (handler: string): TypedSearchAttributes =>
  new TypedSearchAttributes([{ key: HANDLER_ATTRIBUTE, value: handler }]);
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as { message?: string; cause?: { message?: string } };
  return `${message} ${cause?.message}`;
};

const wakeOne = async (
  requests: Requests,
  workflow: 'notifier' | 'balancer' | 'monitor',
  workflowId: string,
  prefix: string,
  args: unknown[],
  shown: ShownStart,
  handler?: string,
): Promise<Error | null> => {
  const start: Start = (attributes) =>
    requests.send({ kind: workflow, handler }, (temporal) =>
      temporal.workflow.signalWithStart(workflow, {
        workflowId,
        taskQueue: workflowTaskQueue(prefix),
        args,
        signal: lookSignal,
        signalArgs: [],
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        priority: BEFORE_LEADERS,
        ...shown,
        ...attributes,
      }),
    );
  try {
    await (handler === undefined ? start({}) : withHandler(requests, handler, start));
    return null;
  } catch (error) {
    return error as Error;
  }
};

export const wakeNotifier = (requests: Requests, prefix: string): Promise<Error | null> =>
  wakeOne(requests, 'notifier', notifierWorkflowId(prefix), prefix, [NOTIFIER_RUN], notifierStart());

export const wakeBalancer = (requests: Requests, prefix: string): Promise<Error | null> =>
  wakeOne(requests, 'balancer', balancerWorkflowId(prefix), prefix, [{}], balancerStart());

export const wakeMonitor = (requests: Requests, prefix: string, handler: string): Promise<Error | null> =>
  wakeOne(
    requests,
    'monitor',
    monitorWorkflowId(prefix, handler),
    prefix,
    [{ handler }],
    monitorStart(handler),
    handler,
  );

/**
 * Starts queuers or tells them to look, after a statement has written them as working. Failures are
 * not thrown, since the sweeper repeats the wakes; the first one is returned, for the log.
 */
export const wakeQueuerWorkflows = (
  requests: Requests,
  prefix: string,
  queuers: readonly { queuerId: number }[],
): Promise<Error | null> =>
  sendAll(queuers, ({ queuerId }) =>
    requests.send({ kind: 'queuer' }, (temporal) =>
      temporal.workflow.signalWithStart('queuer', {
        workflowId: queuerWorkflowId(prefix, queuerId),
        taskQueue: workflowTaskQueue(prefix),
        args: [{ queuerId }],
        signal: lookSignal,
        signalArgs: [],
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        priority: BEFORE_LEADERS,
        ...queuerStart(queuerId),
      }),
    ),
  );

/**
 * Starts the workflows of executions or tells them to look, some at a time. A run that is started
 * by this waits `resumeAfterMs` first. Failures are not thrown, since the sweeper repeats the
 * wakes; the first one is returned, for the log.
 */
export const wakeExecutions = (
  requests: Requests,
  prefix: string,
  executionIds: readonly string[],
  resumeAfterMs = 0,
): Promise<Error | null> =>
  sendAll(executionIds, (executionId) =>
    requests.send({ kind: 'execution' }, (temporal) =>
      temporal.workflow.signalWithStart('execution', {
        workflowId: executionWorkflowId(prefix, executionId),
        taskQueue: workflowTaskQueue(prefix),
        args: [{ executionId, resumeAfterMs }],
        signal: lookSignal,
        signalArgs: [],
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        ...executionStart(executionId),
      }),
    ),
  );
