import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { fakeMuster } from 'temporal-muster/testing';
import { indexCity } from './cities';
import type { importCity } from './workflows';

test('a city waits a minute for others, which the environment skips', async () => {
  const path = process.env['TEMPORAL_TEST_SERVER']; // without it the SDK downloads this server
  const server = path === undefined ? {} : { executable: { type: 'existing-path' as const, path } };
  const env = await TestWorkflowEnvironment.createTimeSkipping({ server });
  const muster = await fakeMuster(env, { handlers: [indexCity(async () => [])] });
  const taskQueue = 'cities';
  const workflowsPath = require.resolve('./workflows');
  const worker = await Worker.create({ connection: env.nativeConnection, taskQueue, workflowsPath });
  const begunMs = await env.currentTimeMs();
  const args: Parameters<typeof importCity> = [{ country: 'se', name: 'Lund' }];
  const start = { taskQueue, workflowId: 'import-lund', args };
  expect(await worker.runUntil(env.client.workflow.execute<typeof importCity>('importCity', start))).toBe('succeeded');
  expect((await env.currentTimeMs()) - begunMs).toBeGreaterThanOrEqual(60_000);
  expect(muster.calls('index-city')).toMatchObject([{ target: 'se', tasks: [{ id: 'Lund' }] }]);
  await muster.stop();
  await env.teardown();
}, 120_000); // the workflows are bundled
