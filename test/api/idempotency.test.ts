import { z } from 'zod';
import { defineHandler } from '../../handlers';
import { Retention } from '../../postgres/sweeper/retention';
import { eventually } from '../helpers/eventually';
import type { ApiWorld } from './world';
import { items, openWorld, worldHandlers } from './world';

/** Idempotency-Key: the effect once, the answer as often as it is asked for. */

/** Each that is missing is a problem. */
const FIELDS = Array.from({ length: 10 }, (_, n) => `field${n}`);
const fields = z.object(Object.fromEntries(FIELDS.map((name) => [name, z.string()])));
const strict = defineHandler({
  name: 'strict',
  schema: fields.extend({ more: z.record(z.string(), fields).optional() }),
  target: () => 'all',
  limits: { maxItems: 100 },
  linger: { lingerMs: 60_000 },
  submit: async () => ({ results: [] }),
});
const WHOLE = { id: 'whole', payload: Object.fromEntries(FIELDS.map((name) => [name, 'given'])) };

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ handlers: [...worldHandlers(), strict] });
});
afterAll(() => world.stop());

const submit = 'POST /v1/handlers/items/tasks';
const template = { function_id: 'f', method: 'm' };
const count = async (table: string): Promise<number> =>
  (await world.database.pool.query<{ n: number }>(`select count(*) as n from ${table}`)).rows[0]!.n;

test('HTTP API: repeated with the same key: the same answer, nothing more done', async () => {
  const body = { tasks: items('a', '1', '2') };
  const first = await world.call(submit, { body, key: 'k1' });
  expect(first).toMatchObject({ status: 200, body: { accepted: 2, repeated: 0 } });
  const again = await world.call(submit, { body, key: 'k1' });
  expect(again.text).toBe(first.text);
  expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
  expect(await count('task')).toBe(2);
});

test('HTTP API: fan-outs, adds, executions and lanes: what has no id of its own gets it from the key', async () => {
  const twice = async (route: string, body: object, key: string) => {
    const [a, b] = [await world.call(route, { body, key }), await world.call(route, { body, key })];
    expect(b.text).toBe(a.text);
    expect([a.status, b.status]).toEqual([a.status, a.status]);
    return a.body;
  };
  const fanout = await twice('POST /v1/fanouts', { userKey: 'u' }, 'open');
  expect(await count('fanout')).toBe(1);
  const added = await twice(`POST /v1/fanouts/${fanout.id}/items`, { items: 7 }, 'add');
  expect(added).toMatchObject({ items: 7 });
  expect((await world.call(`GET /v1/fanouts/${fanout.id}`)).body).toMatchObject({ items: 7 });
  await twice('POST /v1/executions', { template, arguments: [['a'], ['b']] }, 'execute');
  expect(await count('execution')).toBe(1);
  const { batches } = await twice(
    'POST /v1/handlers/lane/batches',
    { batches: [{ service: 'po', items: items('po', 'l1', 'l2') }] },
    'batch',
  );
  expect(batches).toEqual([{ batch: expect.any(Number), service: 'po', accepted: true }]);
});

test('HTTP API: the answer of the last seal and of the last ack is kept: a completion is never lost', async () => {
  const { id } = (await world.call('POST /v1/fanouts', { body: {} })).body;
  await world.call(`POST /v1/fanouts/${id}/items`, { body: { items: 1 } });
  await world.call(`POST /v1/fanouts/${id}/seal`);
  const ack = () => world.call('POST /v1/items:ack', { body: { items: [`${id}:0:0`] }, key: `ack-${id}` });
  expect([(await ack()).body.completed, (await ack()).body.completed]).toEqual([
    [expect.objectContaining({ id })],
    [expect.objectContaining({ id })],
  ]);
});

test('HTTP API: the same key with another body: 422, nothing done; of another caller or operation it is another key', async () => {
  await world.call(submit, { body: { tasks: items('b', '3') }, key: 'k2' });
  expect(await world.call(submit, { body: { tasks: items('b', '4') }, key: 'k2' })).toMatchObject({
    status: 422,
    body: { type: 'urn:muster:problem:key-reused' },
  });
  expect(
    await world.call('POST /v1/handlers/narrow/tasks', { body: { tasks: items('b', '3') }, key: 'k2' }),
  ).toMatchObject({ status: 422 });
  expect(await world.call('POST /v1/tasks:cancel', { body: { ids: ['3'] }, key: 'k2' })).toMatchObject({ status: 200 });
  expect((await world.call('GET /v1/tasks/4')).status).toBe(404);
  expect((await world.call(submit, { body: {}, key: 'with blanks' })).status).toBe(400);
});

test('HTTP API: a refusal is not kept: it has changed nothing, and is judged anew', async () => {
  const body = { tasks: items('n', 'n1', 'n2', 'n3') };
  await world.call('POST /v1/handlers/narrow/tasks', { body: { tasks: items('n', 'first') } });
  expect((await world.call('POST /v1/handlers/narrow/tasks', { body, key: 'k3' })).status).toBe(429);
  await world.call('POST /v1/tasks:cancel', { body: { ids: ['first'] } });
  expect(await world.call('POST /v1/handlers/narrow/tasks', { body, key: 'k3' })).toMatchObject({
    status: 200,
    body: { accepted: 3 },
  });
});

const kept = async (): Promise<{ n: number; bytes: number }> =>
  (
    await world.database.pool.query<{ n: number; bytes: number }>(
      'select count(*)::int as n, coalesce(sum(length(answer)), 0)::int as bytes from idempotency_key',
    )
  ).rows[0]!;

test('HTTP API: a large answer to what changed nothing is not kept: fresh keys do not fill the store', async () => {
  const before = await kept();
  const tasks = Array.from({ length: 10_000 }, (_, n) => ({ id: `${'x'.repeat(245)}${n}`, payload: {} }));
  const requests: [string, object][] = [
    ['POST /v1/tasks:cancel', { ids: tasks.map(({ id }) => id) }],
    ['POST /v1/handlers/strict/tasks', { tasks, partial: true }],
    // A repeat of one that was accepted costs no quota.
    ['POST /v1/handlers/strict/tasks', { tasks: [...tasks.slice(1), WHOLE], partial: true }],
  ];
  await world.call('POST /v1/handlers/strict/tasks', { body: { tasks: [WHOLE] } });
  for (const [at, [route, body]] of requests.entries()) {
    const first = await world.call(route, { body, key: `large-${at}` });
    const again = await world.call(route, { body, key: `large-${at}` });
    expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 200, null]);
    expect(first.text.length).toBeGreaterThan(65_536);
    expect(again.text).toBe(first.text);
  }
  expect(await kept()).toEqual(before);
});

test('HTTP API: a large answer to a request that changed something is kept: its effect happens once', async () => {
  const tasks = Array.from({ length: 2_000 }, (_, n) => ({ id: `refused-${n}`, payload: {} }));
  const body = { tasks: [...tasks, { ...WHOLE, id: 'once' }], partial: true };
  const call = () => world.call('POST /v1/handlers/strict/tasks', { body, key: 'large-kept' });
  const [first, again] = [await call(), await call()];
  expect([first.body.accepted, again.body.accepted]).toEqual([1, 1]);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.text).toBe(first.text);
});

test('HTTP API: a large answer of acks that tells of completions is kept: they are told once', async () => {
  const opened = Array.from({ length: 80 }, async (_, n) => {
    const { id } = await world.client.openFanout({ userKey: `${'u'.repeat(1_000)}${n}` });
    await world.client.addItems(id, 1);
    await world.client.sealFanout(id);
    return `${id}:0:0`;
  });
  const body = { items: await Promise.all(opened) };
  const ack = () => world.call('POST /v1/items:ack', { body, key: 'large-ack' });
  const [first, again] = [await ack(), await ack()];
  expect([first.body.completed.length, first.text.length > 65_536]).toEqual([80, true]);
  expect([again.text === first.text, again.headers.get('idempotency-replayed')]).toEqual([true, 'true']);
});

test('HTTP API: of the first hundred refused tasks all problems are told, of each other one its first', async () => {
  const tasks = Array.from({ length: 10_000 }, (_, n) => ({ id: `${'y'.repeat(245)}${n}`, payload: {} }));
  const sent = JSON.stringify({ tasks, partial: true });
  const { text, body } = await world.call('POST /v1/handlers/strict/tasks', { body: { tasks, partial: true } });
  expect(text.length).toBeLessThan(2 * sent.length);
  const refused = body.refused as { index: number; id: string; field: string; code: string; message: string }[];
  expect(refused).toHaveLength(100 * FIELDS.length + 9_900);
  expect(refused.slice(0, 1_000).map(({ index }) => index)).toEqual(
    Array.from({ length: 1_000 }, (_, n) => Math.floor(n / FIELDS.length)),
  );
  const others = refused.slice(1_000);
  expect(others.map(({ index, id }) => [index, id])).toEqual(tasks.slice(100).map(({ id }, n) => [n + 100, id]));
  for (const { field, code, message } of others.slice(0, 10))
    expect([field, code, message.length <= 100]).toEqual(['payload.field0', 'INVALID_PAYLOAD', true]);
});

test('HTTP API: a path in a payload is told up to 2,000 characters', async () => {
  const key = 'k'.repeat(1_000_000);
  const tasks = [{ id: 'deep', payload: { ...WHOLE.payload, more: { [key]: {} } } }];
  const { status, text } = await world.call('POST /v1/handlers/strict/tasks', { body: { tasks } });
  expect(status).toBe(422);
  expect(text.length).toBeLessThan(100_000);
});

test('HTTP API: under way with the same key: 409 with Retry-After, and one effect', async () => {
  const holder = await world.database.pool.connect();
  await holder.query('begin');
  await holder.query('lock table task in access exclusive mode');
  const body = { tasks: items('c', 'held') };
  const first = world.call(submit, { body, key: 'k4' });
  await eventually(async () => {
    const { rows } = await world.database.pool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'muster api%'`,
    );
    return rows.length > 0;
  });
  const second = await world.call(submit, { body, key: 'k4' });
  expect(second).toMatchObject({ status: 409, body: { type: 'urn:muster:problem:key-in-flight' } });
  expect(second.headers.get('retry-after')).toBe('1');
  await holder.query('rollback');
  holder.release();
  expect(await first).toMatchObject({ status: 200, body: { accepted: 1 } });
  expect((await world.call(submit, { body, key: 'k4' })).body).toEqual((await first).body);
});

test('HTTP API: a key is known for 24 h; then the sweeper has forgotten it, and it is a new one', async () => {
  const send = (id: string) => world.call(submit, { body: { tasks: items('d', id) }, key: 'k6' });
  const retention = new Retention();
  const age = async (hours: number): Promise<number> => {
    await world.database.pool.query({
      text: `update idempotency_key set created_at = clock() - $1 * interval '1 hour' where key = 'k6'`,
      values: [hours],
    });
    await retention.deleteExpired(world.database.pool, 100);
    return (await send('of another body')).status;
  };
  expect((await send('of the first body')).status).toBe(200);
  expect([await age(23), await age(25)]).toEqual([422, 200]);
});

test('HTTP API: twenty at once with one key: one effect; who is answered 200 is answered the same', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => world.call('POST /v1/fanouts', { body: { userKey: 'x' }, key: 'k5' })),
  );
  const good = answers.filter(({ status }) => status === 201);
  expect(new Set(good.map(({ text }) => text)).size).toBe(1);
  expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  const { rows } = await world.database.pool.query(`select from fanout where user_key = 'x'`);
  expect(rows).toHaveLength(1);
});
