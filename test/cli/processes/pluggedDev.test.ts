import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { defaultBuildId } from '../../../workers/temporal/versioning';
import { connectTo } from '../../helpers/database';
import { prebuiltBundle } from '../../helpers/prebuilt';
import { EncryptionCodec } from '../../plugs/codec';
import type { Downstream } from '../downstream';
import { startDownstream } from '../downstream';
import { killLeftovers, runCli, startDev } from '../process';
import { CONFIG, makeFolder, order } from '../world';

/**
 * `muster dev` in a folder whose config plugs a codec and workflow interceptors in: its worker and
 * its HTTP API have them.
 *
 * @full
 */

const CODEC = path.join(__dirname, '..', '..', '..', 'dist', 'test', 'plugs', 'codec.js');
const KEY = 'b'.repeat(32);
const MORE = `
import { EncryptionCodec } from ${JSON.stringify(CODEC)};
export const temporal = {
  dataConverter: { payloadCodecs: [new EncryptionCodec(Buffer.from('${KEY}'))] },
  interceptors: { workflowModules: ['./interceptors.ts'] },
};
`;
const INTERCEPTORS = 'export const interceptors = () => ({});\n';

let folder: string;
let downstream: Downstream;
beforeAll(async () => {
  folder = makeFolder();
  downstream = await startDownstream();
  writeFileSync(path.join(folder, 'muster.config.ts'), CONFIG + MORE);
  writeFileSync(path.join(folder, 'interceptors.ts'), INTERCEPTORS);
});
afterAll(async () => {
  killLeftovers();
  await downstream.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Of every workflow of the installation: how its first payload is encoded, and how it ended. */
const runsOf = async (client: Client): Promise<{ type: string; encoding: string; status: string }[]> => {
  const runs: { type: string; encoding: string; status: string }[] = [];
  for await (const { workflowId, runId, type, status } of client.workflow.list({
    query: `WorkflowId STARTS_WITH 'muster/leader/'`,
  })) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const started = events!.find((event) => event.workflowExecutionStartedEventAttributes != null);
    const { metadata } = started!.workflowExecutionStartedEventAttributes!.input!.payloads![0]!;
    runs.push({ type, encoding: Buffer.from(metadata!['encoding']!).toString(), status: status.name });
  }
  return runs;
};

test('its API starts leaders with the codec, its worker reads them, and the version is that of the workflows with what is plugged in', async () => {
  const dev = await startDev({ cwd: folder, env: { DOWNSTREAM_URL: downstream.url } });
  await dev.says(/"ready":true/);
  const ready = JSON.parse(dev.stdout()) as { api: string; temporal: { address: string } };
  const body = JSON.stringify({ tasks: [order('dev-1', 'se')] });
  const headers = { 'content-type': 'application/json' };
  const sent = await fetch(`${ready.api}/v1/handlers/orders/tasks`, { method: 'POST', headers, body });
  expect(sent.status).toBeLessThan(300);
  const file = path.join(folder, 'dev-1.ndjson');
  writeFileSync(file, JSON.stringify(order('dev-1', 'se')));
  const waited = await runCli(['submit', 'orders', '--file', file, '--wait', '--json'], { cwd: folder });
  expect(waited).toMatchObject({ code: 0 });

  const dataConverter = { payloadCodecs: [new EncryptionCodec(Buffer.from(KEY))] };
  const connection = await connectTo({ address: ready.temporal.address });
  try {
    const runs = await runsOf(new Client({ connection, dataConverter }));
    // One in the clear would have failed, and one by a worker without the codec too.
    expect(new Set(runs.map((run) => JSON.stringify(run)))).toEqual(
      new Set([JSON.stringify({ type: 'leader', encoding: 'binary/encrypted', status: 'COMPLETED' })]),
    );
    const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment({
      namespace: 'default',
      deploymentName: 'muster',
    });
    const buildId = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId;
    const asBuilt = defaultBuildId(prebuiltBundle);
    expect(buildId).toMatch(/^\d+\.\d+\.\d+-[0-9a-f]{12}$/);
    expect(buildId).not.toBe(asBuilt);
  } finally {
    await connection.close();
  }
  dev.child.kill('SIGINT');
  expect(await dev.exit).toBe(0);
});
