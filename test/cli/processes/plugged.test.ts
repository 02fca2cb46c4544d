import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { defineHandler } from '../../../handlers';
import { startWorker } from '../../../workers/worker';
import { connectTo, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { UserWorker } from '../../helpers/userWorker';
import { bundleWorkflows, startUserWorker } from '../../helpers/userWorker';
import { EncryptionCodec } from '../../plugs/codec';
import type { World } from '../world';
import { CONFIG, createWorld, order } from '../world';

/**
 * From muster.config.ts through real processes: a codec, a payload converter, and interceptors of
 * all kinds.
 *
 * @full
 */

const CODEC = path.join(__dirname, '..', '..', '..', 'dist', 'test', 'plugs', 'codec.js');
const KEY = 'a'.repeat(32);
const MORE = `
import { appendFileSync } from 'node:fs';
import { EncryptionCodec } from ${JSON.stringify(CODEC)};
const seen = (what) => appendFileSync(process.env['SEEN'], what + '\\n');
export const temporal = {
  dataConverter: {
    payloadConverterPath: './converter.cjs',
    failureConverterPath: './failures.cjs',
    payloadCodecs: [new EncryptionCodec(Buffer.from('${KEY}'))],
  },
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
/** Signs what it writes, and throws on what it does not know, as the SDK's own does. */
const CONVERTER = `
const { defaultPayloadConverter } = require(${JSON.stringify(require.resolve('@temporalio/common'))});
const signed = (payload) => payload && { ...payload, metadata: { ...payload.metadata, user: new Uint8Array([1]) } };
exports.payloadConverter = {
  toPayload: (value) => signed(defaultPayloadConverter.toPayload(value)),
  fromPayload: (payload) => defaultPayloadConverter.fromPayload(payload),
};
`;
/** Signs failures. */
const FAILURES = `
const { DefaultFailureConverter } = require(${JSON.stringify(require.resolve('@temporalio/common'))});
class Signing extends DefaultFailureConverter {
  errorToFailure(error, converter) {
    const failure = super.errorToFailure(error, converter);
    return { ...failure, message: 'signed: ' + failure.message };
  }
}
exports.failureConverter = new Signing();
`;

let world: World;
let temporal: Client;
let user: UserWorker;
const codec = new EncryptionCodec(Buffer.from(KEY));
const dataConverter = { payloadCodecs: [codec] };
beforeAll(async () => {
  world = await createWorld();
  world.write('interceptors.ts', INTERCEPTORS);
  world.write('converter.cjs', CONVERTER);
  world.write('failures.cjs', FAILURES);
  world.env['SEEN'] = world.write('seen.txt', '');
  world.write('muster.config.ts', CONFIG + MORE);
  temporal = new Client({ connection: await connectTo({ address: temporalAddress() }), dataConverter });
  const prefix = world.env['MUSTER_PREFIX']!;
  user = await startUserWorker(
    { prefix },
    await bundleWorkflows(require.resolve('../../plugs/workflows/user')),
    {},
    dataConverter,
  );
});
afterAll(async () => {
  await user.stop();
  await temporal.connection.close();
  await world.close();
});

const encodingOf = ({ metadata }: Payload): string => Buffer.from(metadata!['encoding']!).toString();
/**
 * Every run of a leader so far, the first one last, with its input as it is stored and how it
 * ended.
 */
const leaderRuns = async (): Promise<{ id: string; runId: string; input: Payload; status: string }[]> => {
  const runs: { id: string; runId: string; input: Payload; status: string }[] = [];
  const query = `WorkflowId STARTS_WITH '${world.env['MUSTER_PREFIX']}/leader/'`;
  for await (const { workflowId: id, runId, status } of temporal.workflow.list({ query })) {
    const { events } = await temporal.workflow.getHandle(id, runId).fetchHistory();
    const started = events!.find((event) => event.workflowExecutionStartedEventAttributes != null);
    const input = started!.workflowExecutionStartedEventAttributes!.input!.payloads![0]!;
    runs.push({ id, runId, input, status: status.name });
  }
  return runs;
};
/** Of all of them: nobody wrote in the clear, and nobody found what he could not read. */
const expectAllEncrypted = async (): Promise<void> => {
  const runs = await leaderRuns();
  expect(runs.length).toBeGreaterThan(0);
  for (const { input, status } of runs)
    expect([encodingOf(input), status]).toEqual(['binary/encrypted', expect.not.stringContaining('FAILED')]);
};
const seen = (): string[] => readFileSync(world.env['SEEN']!, 'utf8').split('\n');
const forget = (): string => world.write('seen.txt', '');
/** Whether the user's payload converter wrote it. */
const isSigned = async (payload: Payload): Promise<boolean> =>
  (await codec.decode([payload]))[0]!.metadata!['user'] !== undefined;

test('muster submit and muster api start the leader of a task with the codec, the converter and the interceptors', async () => {
  const file = world.write('orders.ndjson', [order('first', 'se')]);
  expect(await world.run(`submit orders --file ${file}`)).toMatchObject({ code: 0 });
  const [first, ...others] = await eventually(async () => {
    const runs = await leaderRuns();
    return runs.length > 0 && runs;
  });
  expect(others).toEqual([]);
  expect([encodingOf(first!.input), await isSigned(first!.input)]).toEqual(['binary/encrypted', true]);
  expect(seen()).toContain('client leader');
  forget();

  const api = world.start('api --open --port 0 --json');
  await api.says(/"ready":true.*\n/);
  const { url } = JSON.parse(api.stdout()) as { url: string };
  const body = JSON.stringify({ tasks: [order('second', 'no'), order('third', 'dk'), order('fourth', 'fi')] });
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(`${url}/v1/handlers/orders/tasks`, { method: 'POST', headers, body })).status).toBeLessThan(300);
  await eventually(() => seen().includes('client leader'), { what: 'the interceptor in muster api' });
  await eventually(async () => (await leaderRuns()).length > 1, { what: 'leaders of other targets' });
  await expectAllEncrypted();
  for (const { input } of await leaderRuns()) expect(await isSigned(input)).toBe(true);
  api.child.kill('SIGTERM');
  expect(await api.exit).toBe(0);
});

test('muster worker bundles anew and says so, reads what they wrote, and calls its interceptors; workflows write by the converter', async () => {
  forget();
  const worker = await world.worker();
  expect(worker.stderr()).toContain('bundling the workflows with the converters and interceptors of the config');
  const file = world.write('orders.ndjson', [order('first', 'se')]);
  const { code, stderr } = await world.run(`submit orders --file ${file} --wait --timeout 60s`);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  await world.run('submit orders --file - --wait --timeout 60s', `${JSON.stringify(order('fifth', 'is'))}\n`);
  await expectAllEncrypted();
  // A replay reads them with the config's plugs.
  const replayed = await world.run('replay --ended 100 --json');
  expect([replayed.code, replayed.json()]).toMatchObject([0, { ok: true, diverged: [] }]);
  expect(replayed.json<{ types: { leader: number } }>().types.leader).toBeGreaterThan(0);
  expect(seen()).toEqual(expect.arrayContaining(['activity claimBatches', 'activity submitBatches']));
  await worker.says(/"msg":"intercepted"/);
  for (const { id, runId } of await leaderRuns())
    for (const event of (await temporal.workflow.getHandle(id, runId).fetchHistory()).events!)
      for (const input of event.activityTaskScheduledEventAttributes?.input?.payloads ?? [])
        expect(await isSigned(input)).toBe(true);
  // What neither the codec nor the converter can read stops no workflow task: the run ends, and
  // says so by the failure converter.
  const foreign = { metadata: { encoding: Buffer.from('json/protobuf') }, data: Buffer.from('{}') };
  const writesProtobuf = { encode: () => codec.encode([foreign]), decode: codec.decode.bind(codec) };
  const stranger = new Client({ connection: temporal.connection, dataConverter: { payloadCodecs: [writesProtobuf] } });
  const workflowId = `${world.env['MUSTER_PREFIX']}/leader/orders/stranger`;
  const taskQueue = world.env['MUSTER_PREFIX']!;
  const run = await stranger.workflow.start('leader', {
    workflowId,
    taskQueue,
    args: [{}],
    workflowExecutionTimeout: '60s',
  });
  await expect(run.result()).rejects.toMatchObject({
    cause: { message: expect.stringMatching(/^signed: Cannot read the input of this run: .*json\/protobuf/) },
  });
  worker.child.kill('SIGTERM');
  expect(await worker.exit).toBe(0);
});

test('startWorker of temporal-muster/worker serves within this process with codec and interceptors, and stops', async () => {
  const orders = defineHandler<{ country: string }>({
    name: 'orders',
    target: ({ country }) => country,
    limits: { maxItems: 50 },
    linger: { lingerMs: 100 },
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
  });
  const calls: string[] = [];
  const worker = await startWorker({
    databaseUrl: world.database.url,
    prefix: world.env['MUSTER_PREFIX']!,
    handlers: [orders],
    temporal: {
      address: temporalAddress(),
      dataConverter,
      interceptors: {
        client: {
          workflow: [{ signalWithStart: (input, next) => (calls.push(`client ${input.workflowType}`), next(input)) }],
        },
        activity: [
          ({ info }) => ({
            inbound: { execute: (input, next) => (calls.push(`activity ${info.activityType}`), next(input)) },
          }),
        ],
      },
    },
    log: 'silent',
    shutdownGraceMs: 5_000,
  });
  try {
    // Written with the codec; the run of a worker without it would fail, and be followed by one in
    // the clear.
    const earlier = new Set((await leaderRuns()).map(({ runId }) => runId));
    const sent = await world.run(
      'submit orders --file - --wait --timeout 60s',
      `${JSON.stringify(order('sixth', 'se'))}\n`,
    );
    expect(sent).toMatchObject({ code: 0 });
    for (const { input, status } of (await leaderRuns()).filter(({ runId }) => !earlier.has(runId)))
      expect([encodingOf(input), status]).toEqual(['binary/encrypted', expect.not.stringContaining('FAILED')]);
    expect(calls).toEqual(expect.arrayContaining(['activity claimBatches', 'activity submitBatches']));
    // A task of somebody without the codec: its run ends, and the sweeper of this worker begins the
    // next, with its interceptors.
    await world.ended('orders', order('seventh', 'no'));
    expect(calls).toContain('client leader');
  } finally {
    await worker.stop();
  }
  await worker.ended;
});
