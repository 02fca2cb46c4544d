import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Client as TemporalClient } from '@temporalio/client';
import { createClient } from '../../client';
import type { Client } from '../../client';
import { codecOf } from '../../examples/codec/aesGcmCodec';
import { loadSettings } from '../../workers/config/config';
import type { CliProcess } from '../cli/process';
import type { World } from '../cli/world';
import { createWorld } from '../cli/world';
import { connectTo, NO_TEMPORAL, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import { CONFIG } from './config';
import { dumpDatabase, dumpTemporal, hitsIn } from './dumps';

/**
 * A known text goes through every door, in real processes, and is then looked for in all rows of
 * Postgres, all histories of Temporal and all logs.
 *
 * @slow
 */

const SECRET = `plain-${randomBytes(12).toString('hex')}-text`;
const KEYS = `k1:${randomBytes(32).toString('base64')}`;
const LIMIT = { timeoutMs: 60_000 };

let world: World;
let client: Client;
let temporal: TemporalClient;
let hooks: Server;
const received: string[] = [];
const processes: CliProcess[] = [];

beforeAll(async () => {
  world = await createWorld();
  hooks = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      received.push(body);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => hooks.once('listening', resolve));
  Object.assign(world.env, {
    CODEC_KEYS: KEYS,
    SECRET,
    HOOK_HOST: `127.0.0.1:${(hooks.address() as AddressInfo).port}`,
    HOOK_SECRET: `whsec_${randomBytes(24).toString('base64')}`,
  });
  world.write('muster.config.ts', CONFIG);
  processes.push(await world.worker(), world.start('api --open --port 0 --json'));
  await processes[1]!.says(/"ready":true.*\n/);
  temporal = new TemporalClient({ connection: await connectTo({ address: temporalAddress() }) });
  Object.assign(process.env, world.env); // for the config, which is loaded here too
  const settings = await loadSettings({}, { handlers: true }, { cwd: world.folder, env: world.env });
  client = createClient({
    databaseUrl: world.database.url,
    prefix: world.env['MUSTER_PREFIX']!,
    handlers: settings.handlers,
    payloadCodec: codecOf(KEYS),
    temporal: { address: temporalAddress() },
  });
});
afterAll(async () => {
  for (const name of Object.keys(world.env)) delete process.env[name];
  await client.close();
  await temporal.connection.close();
  hooks.close();
  await world.close();
});

const task = (id: string, to: string, more: object = {}) => ({ id, payload: { to, secret: SECRET }, ...more });
const hook = (): { url: string } => ({ url: `http://${world.env['HOOK_HOST']}/hook` });
const apiUrl = (): string => (JSON.parse(processes[1]!.stdout()) as { url: string }).url;

const throughOrders = async (): Promise<void> => {
  const workflowId = `${world.env['MUSTER_PREFIX']}-user`;
  await temporal.workflow.start('waits', { workflowId, taskQueue: 'none', workflowExecutionTimeout: '5m' });
  await client.submit('orders', [
    task('ok', 'ok', { callback: hook() }),
    task('retry', 'retry', { callback: hook() }),
    task('dead', 'dead', { callback: hook() }),
    task('failed', 'failed', { callback: { workflowId } }),
    task('later', 'later', { callback: { workflowId } }),
    task('throws', 'throws', { tags: ['open'], metadata: { secret: SECRET } }),
    task('garbage', 'garbage'),
    task('halts', 'halts'),
    task('after', 'ok', { dependsOn: ['ok'] }),
  ]);
  // Many at once go by COPY, and a repeated one is recognised, whatever it was encrypted to.
  const many = Array.from({ length: 120 }, (_, i) => task(`many-${i}`, 'ok'));
  expect(await client.submit('orders', many)).toMatchObject({ accepted: 120 });
  expect(await client.submit('orders', [...many, task('ok', 'ok')])).toMatchObject({ accepted: 0, repeated: 121 });
  const other = { id: 'ok', payload: { to: 'ok', secret: 'other' } };
  await expect(client.submit('orders', [other])).rejects.toMatchObject({ code: 'ID_CONFLICT' });
  const ended = await client.waitFor(['ok', 'retry', 'dead', 'failed', 'later', 'throws', 'garbage', 'after'], LIMIT);
  expect(ended.map(({ state }) => state).join()).toBe(
    'succeeded,succeeded,dead,failed,succeeded,unknown,unknown,succeeded',
  );
  expect(ended[0]).toMatchObject({ payload: { secret: SECRET }, result: { echo: SECRET }, state: 'succeeded' });
  expect(ended[2]!.error).toBe(`no: ${SECRET}`);
  expect(ended[3]).toMatchObject({ error: `no: ${SECRET}`, result: { secret: SECRET } });
  expect(ended[5]!.error).toContain(`it said ${SECRET}`);
  expect(ended[5]).toMatchObject({ tags: ['open'], metadata: { secret: SECRET } });
  expect(ended[6]!.error).toContain(`unreadable ${SECRET}`);
  expect(ended.every((one) => one.encoded === undefined)).toBe(true);
  await client.resolve({ tasks: ['throws'] }, { as: 'succeeded', result: { by: SECRET } });
  await client.resolve({ tasks: ['garbage'] }, { as: 'failed', error: `by ${SECRET}` });
  expect(await client.getTask('throws')).toMatchObject({ result: { by: SECRET } });
  expect((await eventually(async () => client.explain('halts'))).text).toContain(SECRET);
};

const throughBulk = async (): Promise<void> => {
  const notBefore = new Date(Date.now() + 3_600_000);
  await client.submit('orders', [{ id: 'patched', payload: { to: 'ok', secret: 'none yet' }, notBefore }]);
  const action = { do: 'update', payloadPatch: { secret: SECRET } } as const;
  const { id } = await client.bulk.start({ handler: 'orders', where: { id: 'patched' }, action });
  await eventually(async () => (await client.bulk.get(id))!.done === 1);
  expect(await client.getTask('patched')).toMatchObject({ payload: { secret: SECRET } });
  expect(await client.audit.list({ limit: 1 })).toMatchObject([{ verb: 'bulk update' }]);
  await client.tasks.cancel(['patched']);
};

const throughApi = async (): Promise<void> => {
  const headers = { 'content-type': 'application/json', 'idempotency-key': 'once' };
  const tasks = [task('api', 'ok'), { id: 'bad', payload: { to: 'ok', secret: `bad ${SECRET}` } }];
  const body = JSON.stringify({ tasks, partial: true });
  const send = async (): Promise<string> =>
    (await fetch(`${apiUrl()}/v1/handlers/orders/tasks`, { method: 'POST', headers, body })).text();
  const first = await send();
  expect(first).toContain(`refused: bad ${SECRET}`);
  expect(await send()).toBe(first); // the answer that was kept
  await client.waitFor(['api'], LIMIT);
  expect(await (await fetch(`${apiUrl()}/v1/tasks/api`)).json()).toMatchObject({ result: { echo: SECRET } });
};

const throughCompletion = async (): Promise<void> => {
  await client.submit('jobs', [task('job', 'ok', { callback: hook() })]);
  const batch = await eventually(async () => (await client.getTask('job'))!.batch);
  const results = [{ id: 'job', status: 'ok' as const, result: { done: SECRET } }];
  await eventually(async () =>
    client.complete('jobs', { reference: `job-${batch}`, results }).then(
      () => true,
      () => false,
    ),
  );
  expect((await client.waitFor(['job'], LIMIT))[0]).toMatchObject({ state: 'succeeded', result: { done: SECRET } });
};

const throughLane = async (): Promise<void> => {
  const { batch } = await client.submitBatch('ledger', 'lane', [task('item-1', 'lane'), task('item-2', 'lane')]);
  const again = await client.submitBatch('ledger', 'lane', [task('item-1', 'lane'), task('item-2', 'lane')]);
  expect(again).toMatchObject({ batch, accepted: false });
  await client.waitFor(['item-1', 'item-2'], LIMIT);
  expect(await client.receipts(batch)).toMatchObject([{ message: `no: ${SECRET}` }, { data: { secret: SECRET } }]);
};

const throughExecution = async (): Promise<void> => {
  const lists = [[SECRET], [SECRET, 'more']];
  const execution = await client.execute({ functionId: 'echo', method: 'run' }, lists, { requestId: randomUUID() });
  expect(await execution.wait(LIMIT)).toMatchObject({ state: 'done' });
  expect(await execution.itemPage({ limit: 10 })).toMatchObject([
    { arguments: [SECRET], stdout: SECRET, stderr: `of ${SECRET}` },
    { arguments: [SECRET, 'more'] },
  ]);
  expect(JSON.stringify(await execution.results())).toContain(`of ${SECRET}`);
  const failing = await client.execute({ functionId: 'fails', method: 'run' }, [[SECRET]], { maxAttempts: 1 });
  expect(await failing.wait(LIMIT)).toMatchObject({ counts: { permanentlyFailed: 1 } });
};

test('after work of every kind nothing plain is in Postgres, in histories or in logs', async () => {
  await throughOrders();
  await throughBulk();
  await throughApi();
  await throughCompletion();
  await throughLane();
  await throughExecution();
  // Its receiver gets the values themselves.
  await eventually(() => received.filter((body) => body.includes(SECRET)).length >= 4, { what: () => received.join() });
  await eventually(async () =>
    (await dumpTemporal(temporal, world.env['MUSTER_PREFIX']!)).includes('musterTasksEnded'),
  );
  await expectWhole(client);

  const stored = await dumpDatabase(world.database.pool);
  expect(stored).toContain('$codec');
  expect(hitsIn(stored, SECRET)).toEqual([]);
  expect(hitsIn(await dumpTemporal(temporal, world.env['MUSTER_PREFIX']!), SECRET)).toEqual([]);
  const logs = processes.map(({ stdout, stderr }) => stdout() + stderr()).join('\n');
  expect(logs).toContain('a handler threw');
  expect(hitsIn(logs, SECRET)).toEqual([]);
}, 240_000);

test('without the codec a reader gets what is stored, marked as such', async () => {
  const reader = createClient({
    databaseUrl: world.database.url,
    prefix: world.env['MUSTER_PREFIX']!,
    temporal: NO_TEMPORAL,
  });
  try {
    const [ok, dead] = await reader.getTasks(['ok', 'dead']);
    expect(ok!.payload).toEqual({ $codec: expect.anything() });
    expect(ok!.encoded).toEqual({
      payload: expect.stringMatching(/encoded/),
      result: expect.stringMatching(/encoded/),
    });
    expect(dead!.encoded).toMatchObject({ error: expect.stringMatching(/encoded/) });
    expect(dead!.error).toMatch(/^\[encoded:/);
  } finally {
    await reader.close();
  }
  rmSync(path.join(world.folder, 'muster.config.ts'));
  const shown = await world.run(`task ok --database-url ${world.database.url}`);
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('no payloadCodec is configured here')]);
});
