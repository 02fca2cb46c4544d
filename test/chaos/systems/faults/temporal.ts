import { setTimeout as sleep } from 'node:timers/promises';
import { msToTs } from '@temporalio/common/lib/time';
import { temporal } from '@temporalio/proto';
import type { WorkflowHandle } from '@temporalio/client';
import { shuffled } from '../../random';
import type { Fault, Strike } from './fault';

/** Temporal stands still, dies, loses all it had; an operator ends runs that he should not. */

export const temporalStopped: Fault = async ({ world: { temporalPid }, forMs }) => {
  process.kill(temporalPid, 'SIGSTOP');
  await sleep(forMs);
  process.kill(temporalPid, 'SIGCONT');
  return 1;
};
export const temporalKilled: Fault = async ({ world, forMs }) => {
  await world.restartTemporal(forMs);
  return 1;
};
export const temporalEmptied: Fault = async ({ world, forMs }) => {
  await world.emptyTemporal(forMs);
  return 1;
};

const NAMESPACE = 'default';
/** With all its runs; an operator makes it again. */
export const namespaceDeleted: Fault = async ({ world, forMs }) => {
  const { connection } = await world.client.temporal();
  await connection.operatorService.deleteNamespace({ namespace: NAMESPACE });
  await sleep(forMs);
  await connection.workflowService.registerNamespace({
    namespace: NAMESPACE,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  return 1;
};

/** To some of the open runs of the product. What Temporal answers a moment too late is no fault. */
const toSome = async (
  { world, random, times, forMs }: Strike,
  types: string,
  what: (handle: WorkflowHandle, workflowId: string) => Promise<unknown>,
): Promise<number> => {
  const { workflow } = await world.client.temporal();
  const ids: string[] = [];
  for await (const run of workflow.list({ query: `ExecutionStatus = 'Running' and WorkflowType in (${types})` }))
    if (run.workflowId.startsWith(world.prefix)) ids.push(run.workflowId);
  let struck = 0;
  for (const id of shuffled(ids, random).slice(0, times)) {
    const isStruck = await what(workflow.getHandle(id), id).then(
      () => true,
      () => false,
    );
    if (isStruck) struck++;
    await sleep(forMs);
  }
  return struck;
};

const OWN = `'leader', 'queuer', 'monitor', 'notifier', 'balancer'`;
export const runsTerminated: Fault = (strike) =>
  toSome(strike, `${OWN}, 'execution'`, (handle) => handle.terminate('chaos'));
/** Not of executions: their cancel is their caller's. */
export const runsCancelled: Fault = (strike) => toSome(strike, OWN, (handle) => handle.cancel());

const { EventType } = temporal.api.enums.v1;
/** To one of its first tasks. */
export const runsReset: Fault = (strike) =>
  toSome(strike, OWN, async (handle, workflowId) => {
    const { events } = await handle.fetchHistory();
    const completed = (events ?? []).find(
      ({ eventType }) => eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
    );
    const { workflow } = await strike.world.client.temporal();
    await workflow.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId },
      reason: 'chaos',
      requestId: `${workflowId} ${performance.now()}`,
      workflowTaskFinishEventId: completed?.eventId,
    });
  });
