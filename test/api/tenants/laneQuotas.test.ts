import { defineHandler } from '../../../handlers';
import type { TenantLimits } from '../../../postgres/api/tenant';
import { NO_QUOTAS, readBacklog, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken } from '../../../postgres/api/token';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld, CallApi, Place } from '../world';
import { openWorld, worldHandlers } from '../world';
import { halt } from './halt';

/**
 * Quotas of tenants in lanes: batches, what replaces one, state keys; and dependencies.
 *
 * @slow
 */

type Asks = (route: string, body: unknown) => ReturnType<CallApi>;
const keyed = defineHandler<Place>({
  name: 'keyed',
  target: ({ to }) => to,
  limits: { maxItems: 100 },
  service: (target) => target,
  lane: { approach: 'parallel' },
  distinctBy: ({ note }) => note!,
  reads: () => ['read'],
  writes: () => ['write'],
  submit: async () => ({ results: [] }),
});
let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ handlers: [...worldHandlers(), keyed] });
});
afterAll(() => world.stop());

const tenant = async (name: string, limits: Partial<TenantLimits>, handlers?: readonly string[]) => {
  await upsertTenant(world.database.pool, name, { ...NO_QUOTAS, ...limits });
  const token = newToken();
  const scopes = ['submit', 'read', 'operate'] as const;
  await insertToken(world.database.pool, {
    name,
    hash: hashToken(token),
    scopes,
    tenant: name,
    ...(handlers === undefined ? {} : { handlers }),
  });
  await eventually(async () => (await world.call(`GET /v1/tasks/${name}%2Fnone`, { token })).status === 404);
  const call = (route: string, body: unknown) => world.call(route, { token, body });
  const to = `${name}/s`;
  const items = (...ids: string[]) => ids.map((id) => ({ id: `${name}/${id}`, payload: { to } }));
  const batch = (ids: string[], more: object = {}) =>
    call('POST /v1/handlers/lane/batches', { batches: [{ service: to, items: items(...ids), ...more }] });
  const stored = () => readBacklog(world.database.pool, `${name}/`, 10);
  return { call, batch, items, stored };
};
/** What is kept in a process is forgotten: it counts anew within a second. */
const again = async (work: () => Promise<{ status: number; body: unknown }>, expected: object): Promise<void> => {
  const since = Date.now();
  await eventually(async () => {
    expect(await work()).toMatchObject(expected);
    return Date.now() - since > 2_500;
  });
};

test('batches of a lane count until they are sent, and what replaces one counts, too', async () => {
  const { call, batch, items, stored } = await tenant('lanes', { maxQueued: 3 });
  const { body, status } = await batch(['1', '2']);
  expect(status).toBe(200);
  await again(() => batch(['3', '4']), { status: 429, body: { quota: 'queued tasks', has: 2, limit: 3 } });
  await halt(world.database.pool, 'lanes/s', body.batches[0].batch);
  const fix = (...ids: string[]) => call('POST /v1/lanes/lanes%2Fs/fix', { items: items(...ids) });
  await eventually(async () => (await stored()).queued === 0);
  await eventually(async () => (await batch(['3', '4', '8'])).status === 200);
  // The queue is full behind the batch that halts the lane: as many may take its place, and no
  // more.
  expect(await fix('5', '6', '7')).toMatchObject({ status: 429, body: { quota: 'queued tasks', has: 3, limit: 3 } });
  expect((await fix('5', '6')).status).toBe(200);
  await eventually(async () => (await batch(['9'])).body.has === 5); // once it has counted anew
});

test('what replaces a batch may have as many bytes of labels as that had, where all bytes are taken', async () => {
  const { call, items, stored } = await tenant('tagged', { maxBytes: 120 });
  const tagged = (id: string, n: number) =>
    items(id).map((item) => ({ ...item, tags: ['t'.repeat(n)], metadata: { by: 'x'.repeat(n - 9) } }));
  const submit = (id: string) =>
    call('POST /v1/handlers/lane/batches', { batches: [{ service: 'tagged/s', items: tagged(id, 50) }] });
  const { body } = await submit('1');
  expect(await stored()).toMatchObject({ bytes: 17 + 50 + 50 });
  await halt(world.database.pool, 'tagged/s', body.batches[0].batch);
  await eventually(async () => (await submit('2')).status === 200);
  const fix = (n: number) => call('POST /v1/lanes/tagged%2Fs/fix', { items: tagged('3', n) });
  expect(await fix(52)).toMatchObject({ status: 429, body: { quota: 'bytes of queued tasks', has: 117 } });
  expect((await fix(50)).status).toBe(200);
});

test.each([
  ['single tasks', (call: Asks, item: object) => call('POST /v1/handlers/keyed/tasks', { tasks: [item] }), 2],
  [
    'batches',
    (call: Asks, item: object) =>
      call('POST /v1/handlers/keyed/batches', { batches: [{ service: 'bound/s', items: [item] }] }),
    1,
  ],
])(
  'bytes are those of keys that the handler computes, in the call as in what waits: %s',
  async (what, submit, times) => {
    const payload = { to: 'bound/s', note: 'né' };
    // The key of `distinctBy`, which single tasks keep by itself, too; one to read, one to write.
    const bytes = Buffer.byteLength(JSON.stringify(payload)) + (times - 1) * 3 + 'distinctBy:né'.length + 1 + 4 + 5;
    const item = (id: string) => ({ id: `bound/${what}-${id}`, payload });
    const full = await tenant('bound', { maxBytes: bytes - 1 });
    expect(await submit(full.call, item('1'))).toMatchObject({ status: 429, body: { quota: 'bytes of queued tasks' } });
    const { call, stored } = await tenant('bound', { maxBytes: bytes });
    await eventually(async () => (await submit(call, item('1'))).status === 200);
    expect(await stored()).toMatchObject({ queued: 1, bytes });
    await world.client.cancel(`bound/${what}-1`);
  },
);

test('what replaces a batch keeps its keys, and counts those that it adds', async () => {
  const payload = { to: 'kept/s', note: 'a' };
  const { call, stored } = await tenant('kept', { maxBytes: 60 });
  const items = (id: string, note = 'a') => [{ id: `kept/${id}`, payload: { ...payload, note } }];
  const submit = (id: string) =>
    call('POST /v1/handlers/keyed/batches', { batches: [{ service: 'kept/s', items: items(id) }] });
  const { body } = await submit('1');
  expect(await stored()).toMatchObject({ bytes: 26 + 4 + 5 + 12 });
  await halt(world.database.pool, 'kept/s', body.batches[0].batch);
  await eventually(async () => (await submit('2')).status === 200);
  const fix = (note: string) => call('POST /v1/lanes/kept%2Fs/fix', { items: items('3', note) });
  expect(await fix('bc')).toMatchObject({ status: 429, body: { quota: 'bytes of queued tasks', has: 47 } });
  expect((await fix('a')).status).toBe(200);
});

test('bytes are those of state keys and of dependencies, too, of the call and of what waits', async () => {
  const { call, batch, items, stored } = await tenant('keys', { maxBytes: 200 });
  const keys = (n: number) => ({ reads: ['r'.repeat(n / 2)], writes: ['w'.repeat(n / 2)] });
  expect(await batch(['1'], keys(190))).toMatchObject({
    status: 429,
    body: { quota: 'bytes of queued tasks', has: 0 },
  });
  expect((await batch(['1'], keys(100))).status).toBe(200);
  const before = await stored();
  expect(before).toMatchObject({ queued: 1, bytes: 15 + 100 });
  await again(() => batch(['2'], keys(80)), { status: 429, body: { has: 115 } });
  const held = (id: string, ...dependsOn: string[]) =>
    call('POST /v1/handlers/items/tasks', { tasks: items(id).map((task) => ({ ...task, dependsOn })) });
  expect((await held('held', 'keys/1')).status).toBe(200);
  expect(await stored()).toMatchObject({ queued: 2, bytes: 115 + 15 + 6 });
});

test('a lane that a batch of another handler halts is not theirs to skip or fix who have the handler of the lane', async () => {
  const { call, batch, items } = await tenant('mixed', {}, ['lane']);
  const { body } = await batch(['1']);
  const head = body.batches[0].batch as number;
  await halt(world.database.pool, 'mixed/s', head);
  const of = (handler: string) =>
    world.database.pool.query(
      `update target set handler_id = (select id from handler where name = $2)
where id = (select target_id from batch where id = $1)`,
      [head, handler],
    );
  await of('items');
  expect((await call('POST /v1/lanes/mixed%2Fs/skip', {})).status).toBe(404);
  expect((await call('POST /v1/lanes/mixed%2Fs/fix', { items: items('2') })).status).toBe(404);
  await of('lane');
  expect((await call('POST /v1/lanes/mixed%2Fs/skip', {})).status).toBe(200);
});
