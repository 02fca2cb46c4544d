import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { defineHandler } from '../../handlers';
import { startWorker } from '../../workers/worker';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { UserWorker } from '../helpers/userWorker';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import { EncryptionCodec } from '../plugs/codec';
import type { World } from './world';
import { CONFIG, createWorld, order } from './world';

/**
 * From muster.config.ts through real processes: a codec, a payload converter, and interceptors of
 * all kinds.
 */

const CODEC = path.join(__dirname, '..', '..', 'dist', 'test', 'plugs', 'codec.js');
const KEY = 'a'.repeat(32);
const MORE = `
import { appendFileSync } from 'node:fs';
import { EncryptionCodec } from ${JSON.stringify(CODEC)};
const seen = (what) => appendFileSync(process.env['SEEN'], what + '\\n');
export const temporal = {
  dataConverter: { payloadConverterPath: './converter.cjs', payloadCodecs: [new EncryptionCodec(Buffer.from('${KEY}'))] },
  interceptors: {
    client: { workflow: [{ signalWithStart: (input, next) => (seen('client ' + input.workflowType), next(input)) }] },
    activity: [({ info }) => ({ inbound: { execute: (input, next) => (seen('activity ' + info.activityType), next(input)) } })],
    workflowModules: ['./interceptors.ts'],
  },
};
`;
/** In the bundle, in TypeScript: each run says so in the worker's log. */
const INTERCEPTORS = `
import { log } from '@temporalio/workflow';
export const interceptors = () => ({
  inbound: [{ execute: (input, next) => { log.warn('intercepted'); return next(input); } }],
});
`;
/** Throws on what it does not know, as the SDK's own does. */
const CONVERTER = `
const { defaultPayloadConverter } = require(${JSON.stringify(require.resolve('@temporalio/common'))});
exports.payloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload: (payload) => defaultPayloadConverter.fromPayload(payload),
};
`;

let world: World;
let temporal: Client;
let user: UserWorker;
const dataConverter = { payloadCodecs: [new EncryptionCodec(Buffer.from(KEY))] };
beforeAll(async () => {
  world = await createWorld();
  world.write('interceptors.ts', INTERCEPTORS);
  world.write('converter.cjs', CONVERTER);
  world.env['SEEN'] = world.write('seen.txt', '');
  world.write('muster.config.ts', CONFIG + MORE);
  temporal = new Client({ connection: await Connection.connect({ address: temporalAddress() }), dataConverter });
  const prefix = world.env['MUSTER_PREFIX']!;
  user = await startUserWorker(
    { prefix },
    await bundleWorkflows(require.resolve('../plugs/workflows/user')),
    {},
    dataConverter,
  );
});
afterAll(async () => {
  await user.stop();
  await temporal.connection.close();
  await world.close();
});
const inputOf = async (workflowId: string): Promise<string> => {
  const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
  const input = events!.find((event) => event.workflowExecutionStartedEventAttributes != null)!;
  const { metadata } = input.workflowExecutionStartedEventAttributes!.input!.payloads![0]!;
  return Buffer.from(metadata!['encoding']!).toString();
};
const leaderIds = async (): Promise<string[]> => {
  const ids: string[] = [];
  const query = `WorkflowId STARTS_WITH '${world.env['MUSTER_PREFIX']}/leader/'`;
  for await (const { workflowId } of temporal.workflow.list({ query })) ids.push(workflowId);
  return ids;
};

test('muster worker bundles anew and says so; muster submit starts its leader with the codec; all interceptors are called', async () => {
  const worker = await world.worker();
  expect(worker.stderr()).toContain('bundling the workflows with the converters and interceptors of the config');
  const file = world.write('orders.ndjson', [order('first', 'se')]);
  const { code, stderr } = await world.run(`submit orders --file ${file} --wait`);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  for (const id of await eventually(async () => (await leaderIds()).length > 0 && leaderIds()))
    expect(await inputOf(id)).toBe('binary/encrypted');
  const seen = readFileSync(world.env['SEEN']!, 'utf8').split('\n');
  expect(seen).toEqual(expect.arrayContaining(['client leader', 'activity claimBatches', 'activity submitBatches']));
  await worker.says(/"msg":"intercepted"/);
  worker.child.kill('SIGTERM');
  expect(await worker.exit).toBe(0);
});

test('startWorker of muster/worker serves within this process, and stops', async () => {
  const orders = defineHandler<{ country: string }>({
    name: 'orders',
    target: ({ country }) => country,
    limits: { maxItems: 50 },
    linger: { lingerMs: 100 },
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
  });
  const worker = await startWorker({
    databaseUrl: world.database.url,
    prefix: world.env['MUSTER_PREFIX']!,
    handlers: [orders],
    temporal: { address: temporalAddress(), dataConverter },
    log: 'silent',
    shutdownGraceMs: 5_000,
  });
  await world.ended('orders', order('second', 'no'));
  await worker.stop();
  await worker.ended;
});
