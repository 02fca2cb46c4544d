import { Retention } from '../../postgres/sweeper/retention';
import { eventually } from '../helpers/eventually';
import type { ApiWorld } from './world';
import { items, openWorld } from './world';

/** Idempotency-Key: the effect once, the answer as often as it is asked for. */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
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
