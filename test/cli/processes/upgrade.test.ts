import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { setCurrentVersion } from '../../../workers/temporal/versioning';
import { connectTo, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { CliProcess } from '../process';
import type { World } from '../world';
import { createWorld, order } from '../world';

/**
 * A leader that lingers for an hour is pinned to version one; then version two becomes the current
 * one. `rolling.test.ts` runs in CI.
 *
 * @full
 */
let world: World;
let client: Client;
let one: CliProcess;
beforeEach(async () => {
  world = await createWorld();
  client = new Client({ connection: await connectTo({ address: temporalAddress() }) });
  one = await world.worker('--versioning --build-id one --set-current');
  await one.says(/this version is now the current one/);
  await world.submit('slow', order('waits', 'se'));
  await isOn('one');
});
afterEach(async () => {
  await client.connection.close();
  await world.close();
});

/** The build of the leader's open run, once it has taken its first task. */
const openBuild = async (): Promise<string | null> => {
  const query = `WorkflowId STARTS_WITH "${world.env['MUSTER_PREFIX']}/leader/slow/" AND ExecutionStatus = "Running"`;
  for await (const { workflowId } of client.workflow.list({ query })) {
    const { versioningInfo } = (await client.workflow.getHandle(workflowId).describe()).raw.workflowExecutionInfo!;
    return versioningInfo?.behavior === 1 ? (versioningInfo.deploymentVersion?.buildId ?? null) : null;
  }
  return null;
};
const isOn = (build: string): Promise<unknown> =>
  eventually(async () => (await openBuild()) === build, { timeoutMs: 60_000, what: `a leader on version ${build}` });
const kill = async (worker: CliProcess): Promise<void> => {
  worker.child.kill('SIGKILL');
  await worker.exit;
};
const goesOn = async (): Promise<void> => {
  expect((await world.run('flush slow --json')).code).toBe(0);
  await eventually(() => world.downstream.calls.length === 1, { timeoutMs: 60_000, what: 'the call' });
};

test('a leader that waits goes on with the new version, its old worker still running [Build 10]', async () => {
  const two = await world.worker('--versioning --build-id two --set-current');
  await two.says(/this version is now the current one/);
  await isOn('two');
  await kill(one);
  await goesOn();
});

test('a leader that waits goes on with the new version, its old worker killed before [Build 10]', async () => {
  await kill(one);
  await world.worker('--versioning --build-id two --set-current');
  await isOn('two');
  await goesOn();
});

test('made current by other means, the old workers gone: the sweeper frees the leader when it is due [Build 10]', async () => {
  await kill(one);
  await world.worker('--versioning --build-id two');
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  const version = { deploymentName: world.env['MUSTER_PREFIX']!, buildId: 'two' };
  await setCurrentVersion(connection, 'default', version, 'somebody');
  await connection.close();
  await goesOn();
});
