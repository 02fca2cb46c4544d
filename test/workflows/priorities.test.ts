import { randomBytes } from 'node:crypto';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { temporal as proto } from '@temporalio/proto';
import { inTransaction } from '../../postgres/pool';
import { BEFORE_LEADERS } from '../../workflows/priorities';
import { queuerWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import {
  wakeBalancer,
  wakeLeaderWorkflows,
  wakeMonitor,
  wakeNotifier,
  wakeQueuerWorkflows,
} from '../../workflows/wake';
import { connectTo, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { startMuster } from '../helpers/muster';
import { Downstream, items, okay } from '../lanes/downstream';
import { Requests } from '../../workflows/temporal/requests';

/**
 * Which task a worker gets first when many wait, as after a restart.
 *
 * @full
 */

const { TASK_QUEUE_TYPE_WORKFLOW } = proto.api.enums.v1.TaskQueueType;

let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  connection = await connectTo({ address: temporalAddress() });
  temporal = new Client({ connection });
});
afterAll(() => connection.close());

const KINDS: Record<string, (prefix: string) => Promise<Error | null>> = {
  queuer: (prefix) => wakeQueuerWorkflows(new Requests(temporal), prefix, [{ queuerId: 0 }]),
  monitor: (prefix) => wakeMonitor(new Requests(temporal), prefix, 'orders'),
  notifier: (prefix) => wakeNotifier(new Requests(temporal), prefix),
  balancer: (prefix) => wakeBalancer(new Requests(temporal), prefix),
};

/**
 * Wakes 20 leaders and then one other workflow; returns their types in the order in which a worker
 * gets them.
 */
const typesInOrder = async (wake: (prefix: string) => Promise<Error | null>): Promise<unknown[]> => {
  const prefix = `t-${randomBytes(5).toString('hex')}`;
  const leaders = Array.from({ length: 20 }, (_, i) => ({
    ...{ leaderId: i, handler: 'orders', name: `${i}`, installation: 'none', dueInMs: 0 },
  }));
  expect(await wakeLeaderWorkflows(new Requests(temporal), prefix, leaders)).toBeNull();
  expect(await wake(prefix)).toBeNull();
  const queue = { namespace: 'default', taskQueue: { name: workflowTaskQueue(prefix) } };
  await eventually(async () => {
    const { stats } = await connection.workflowService.describeTaskQueue({
      ...queue,
      taskQueueType: TASK_QUEUE_TYPE_WORKFLOW,
      reportStats: true,
    });
    return Number(stats?.approximateBacklogCount) === leaders.length + 1;
  });
  const types: unknown[] = [];
  for (let i = 0; i <= leaders.length; i++) {
    const { workflowType, workflowExecution } = await connection.withDeadline(Date.now() + 60_000, () =>
      connection.workflowService.pollWorkflowTaskQueue({ ...queue, identity: 'test' }),
    );
    types.push(workflowType?.name);
    await temporal.workflow.getHandle(workflowExecution!.workflowId!).terminate('seen');
  }
  return types;
};

test('what serves many targets goes before leaders that have waited for longer', async () => {
  const first = await Promise.all(Object.values(KINDS).map(async (wake) => (await typesInOrder(wake))[0]));
  expect(first).toEqual(Object.keys(KINDS));
});

test('the calls of a lane do not go before those of other targets of its handler', async () => {
  const muster = await startMuster([new Downstream().handler()]);
  try {
    const some = items('po-1');
    await muster.client.submitBatch('edits', 'po-1', some);
    await muster.client.waitFor(
      some.map(({ id }) => id),
      { timeoutMs: 60_000 },
    );
    const { events } = await temporal.workflow.getHandle(queuerWorkflowId(muster.prefix, 0)).fetchHistory();
    const priorities = (events ?? []).flatMap((event) => {
      const scheduled = event.activityTaskScheduledEventAttributes;
      return scheduled == null ? [] : [scheduled.priority?.priorityKey];
    });
    expect(priorities).toEqual([3]);
  } finally {
    await muster.stop();
  }
});

test('a run that continues as new keeps its priority', async () => {
  // The run lives while its call does; each wake is a turn of it.
  const downstream = new Downstream();
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  downstream.answer = (batch) => answered.then(() => okay(batch));
  const muster = await startMuster([downstream.handler()]);
  try {
    const workflowId = queuerWorkflowId(muster.prefix, 0);
    // In a transaction of ours, which wakes no queuer: the run finds work in its first turn.
    await inTransaction(muster.database.pool, (tx) =>
      muster.client.submitBatch('edits', 'po-1', items('po-1'), { tx }),
    );
    await temporal.workflow.start('queuer', {
      ...{ workflowId, taskQueue: workflowTaskQueue(muster.prefix), priority: BEFORE_LEADERS },
      args: [{ queuerId: 0, turnsPerRun: 1 }],
    });
    const started = await eventually(async () => {
      await wakeQueuerWorkflows(new Requests(temporal), muster.prefix, [{ queuerId: 0 }]);
      const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
      const first = events![0]!.workflowExecutionStartedEventAttributes!;
      return first.continuedExecutionRunId !== '' && first;
    });
    expect(started.priority?.priorityKey).toBe(1);
  } finally {
    answer();
    await muster.stop();
  }
});
