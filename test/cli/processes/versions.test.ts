import { Client } from '@temporalio/client';
import { connectTo, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { World } from '../world';
import { createWorld, order } from '../world';

/** @slow */

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

test('two versions side by side: what runs stays on the old one, what begins goes to the new one [Build 10]', async () => {
  const client = new Client({ connection: await connectTo({ address: temporalAddress() }) });
  const buildIds = async (status: string): Promise<(string | undefined)[]> => {
    const found: (string | undefined)[] = [];
    const query = `WorkflowId STARTS_WITH "${world.env['MUSTER_PREFIX']}/leader/orders/" AND ExecutionStatus = "${status}"`;
    for await (const { workflowId, runId } of client.workflow.list({ query })) {
      const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
      found.push(raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId ?? undefined);
    }
    return found;
  };
  const one = await world.worker('--versioning --build-id one --set-current');
  await one.says(/this version is now the current one/);
  const release = world.downstream.hold();
  await world.submit('orders', order('version-1', 'se'));
  await eventually(() => world.downstream.calls.length === 1);
  const two = await world.worker('--versioning --build-id two --set-current');
  await two.says(/this version is now the current one/);
  expect(await buildIds('Running')).toEqual(['one']);
  release();
  await world.ended('orders', order('version-1', 'se'));
  await eventually(async () => (await buildIds('Running')).length === 0, { what: 'the old leader to step down' });
  await world.ended('orders', order('version-2', 'se'));
  await eventually(async () => (await buildIds('Completed')).includes('two'), { what: 'a leader of the new version' });
  one.child.kill('SIGTERM');
  expect(await one.exit).toBe(0);
  await world.ended('orders', order('version-3', 'no'));
  two.child.kill('SIGTERM');
  expect(await two.exit).toBe(0);
  await client.connection.close();
});
