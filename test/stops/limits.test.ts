import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { LogMetadata } from '@temporalio/worker';
import pino from 'pino';
import { defineHandler } from '../../handlers';
import { handlerTaskQueue, nodeTaskQueue, workflowTaskQueue } from '../../workflows/naming';
import { FOREIGN_SCOPE } from '../../workflows/ownScope';
import * as wakes from '../../workflows/wake';
import { isPoisoned } from '../../workers/temporal/isolate';
import { workerMakers } from '../../workers/temporal/taskWorkers';
import type { TestDatabase } from '../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../helpers/database';
import { prebuiltBundle } from '../helpers/prebuilt';
import { Requests } from '../../workflows/temporal/requests';
import { NO_ALARMS } from '../workflows/alarms/noAlarms';

/** The limits that keep a stopped or starved process usable, where the SDK reads them. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('the worker of workflows gives code ten minutes, ends a run at any error, takes 16 tasks; each worker polls once', async () => {
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  const handler = defineHandler({
    ...{ name: 'orders', target: () => 'one', limits: { maxItems: 1 } },
    submit: () => Promise.resolve({ results: [] }),
  });
  const makers = await workerMakers(
    {
      pool: database.pool,
      connection,
      namespace: 'default',
      prefix: 'limits',
      handlers: [handler],
      log: pino({ level: 'silent' }),
      callbacks: { allow: [], secret: null },
      workflowBundle: prebuiltBundle,
      maxCachedWorkflows: 77,
    },
    'one',
    { submitBatches: () => Promise.resolve() },
    NO_ALARMS,
    true,
  );
  const workers = await Promise.all(makers.map((make) => make()));
  for (const worker of workers) await worker.runUntil(Promise.resolve());
  await connection.close();
  const once = { type: 'autoscaling', minimum: 1, initial: 1, maximum: 100 };
  expect(workers.map(({ options }) => options)).toEqual([
    expect.objectContaining({
      taskQueue: workflowTaskQueue('limits'),
      isolateExecutionTimeoutMs: 600_000,
      workflowFailureErrorTypes: { '*': ['Error'] },
      maxCachedWorkflows: 77,
      workflowTaskPollerBehavior: once,
      activityTaskPollerBehavior: once,
      tuner: expect.objectContaining({ workflowTaskSlotSupplier: { type: 'fixed-size', numSlots: 16 } }),
    }),
    expect.objectContaining({ taskQueue: handlerTaskQueue('limits', 'orders'), activityTaskPollerBehavior: once }),
    expect.objectContaining({ taskQueue: nodeTaskQueue('limits', 'one'), activityTaskPollerBehavior: once }),
  ]);
});

test('every run is begun with 15 s for a workflow task', async () => {
  const connection = await connectTo({ address: temporalAddress() });
  const limits: Record<string, unknown> = {};
  const temporal = new Client({
    connection,
    interceptors: {
      workflow: [
        {
          signalWithStart: ({ workflowType, options }) => {
            limits[workflowType] = Number((options.workflowTaskTimeout as unknown as { seconds: unknown }).seconds);
            return Promise.resolve('not sent');
          },
        },
      ],
    },
  });
  await wakes.wakeLeaderWorkflows(new Requests(temporal), 'limits', [
    { leaderId: 1, handler: 'h', name: '1', dueInMs: 0 },
  ]);
  await wakes.wakeQueuerWorkflows(new Requests(temporal), 'limits', [{ queuerId: 1 }]);
  await wakes.wakeMonitor(new Requests(temporal), 'limits', 'h');
  await wakes.wakeNotifier(new Requests(temporal), 'limits');
  await wakes.wakeBalancer(new Requests(temporal), 'limits');
  await wakes.wakeExecutions(new Requests(temporal), 'limits', ['e']);
  await connection.close();
  const types = ['leader', 'queuer', 'monitor', 'notifier', 'balancer', 'execution'];
  expect(limits).toEqual(Object.fromEntries(types.map((type) => [type, 15])));
});

const cutOff = 'Failure { failure: Some(Failure { message: "Script execution timed out after 600000ms", source: ...';
test.each<[string, boolean, string, LogMetadata]>([
  ['an activation was cut off', true, 'Failing workflow task', { failure: cutOff }],
  ['a run could not be begun', true, 'Failed to process Workflow Activation', { error: new Error(cutOff) }],
  ['a run is in the scope of another', true, FOREIGN_SCOPE, {}],
  ['a bug in a workflow', false, 'Failing workflow task', { failure: 'TypeError: x is undefined' }],
  ["a handler's own script that timed out", false, 'Activity failed', { error: new Error(cutOff) }],
  ['a line without an error', false, 'Worker state changed', {}],
])('the log tells of an unusable workflow thread: %s', (_, poisoned, message, meta) => {
  expect(isPoisoned(message, meta)).toBe(poisoned);
});
