import { randomUUID } from 'node:crypto';
import type { TenantLimits } from '../../../postgres/api/tenant';
import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken } from '../../../postgres/api/token';
import { Recipients } from '../../../client/callbacks/recipients';
import { Quotas } from '../../../workers/api/tenants/quotas';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { openWorld } from '../world';

/**
 * Quotas of tenants: what is beyond one is refused before anything is written, and fits later.
 *
 * @slow
 */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const tenant = async (name: string, limits: Partial<TenantLimits>) => {
  await upsertTenant(world.database.pool, name, { ...NO_QUOTAS, ...limits });
  const token = newToken();
  const scopes = ['submit', 'read'] as const;
  await insertToken(world.database.pool, { name, hash: hashToken(token), scopes, tenant: name });
  await eventually(async () => (await world.call(`GET /v1/tasks/${name}%2Fnone`, { token })).status === 404);
  const call = (route: string, body: unknown, headers = {}) => world.call(route, { token, body, headers });
  const submit = (to: string, ...ids: string[]) =>
    call('POST /v1/handlers/items/tasks', { tasks: ids.map((id) => ({ id: `${name}/${id}`, payload: { to } })) });
  return { call, submit };
};
const countOf = async (name: string): Promise<number> =>
  (await world.database.pool.query('select from task where starts_with(id, $1)', [`${name}/`])).rows.length;

test('queued tasks: the call that is too much is refused as a whole, and room comes back', async () => {
  const { submit, call } = await tenant('queued', { maxQueued: 3 });
  expect((await submit('a', '1', '2')).status).toBe(200);
  const refused = await submit('a', '3', '4');
  expect(refused).toMatchObject({ status: 429, body: { type: 'urn:muster:problem:quota', code: 'QUOTA' } });
  expect(refused.body).toMatchObject({ quota: 'queued tasks', has: 2, limit: 3 });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await countOf('queued')).toBe(2);
  expect((await submit('b', '3')).status).toBe(200);
  expect((await submit('b', '4')).status).toBe(429);
  await call('POST /v1/tasks:cancel', { ids: ['queued/1'] });
  await eventually(async () => (await submit('b', '4')).status === 200);
  expect(await countOf('queued')).toBe(4);
});

test('what waits by itself counts: delayed tasks, held ones and lanes', async () => {
  const { call } = await tenant('waiting', { maxQueued: 3 });
  const task = (id: string, more: object = {}) => ({ id: `waiting/${id}`, payload: { to: 'waiting/w' }, ...more });
  const later = { notBefore: '2100-01-01T00:00:00Z' };
  const tasks = [task('delayed', later), task('held', { dependsOn: ['waiting/delayed'] })];
  expect((await call('POST /v1/handlers/items/tasks', { tasks })).status).toBe(200);
  expect((await call('POST /v1/handlers/lane/tasks', { tasks: [task('lane')] })).status).toBe(200);
  const batch = { service: 'waiting/w', items: [task('in-batch')] };
  const inBatch = () => call('POST /v1/handlers/lane/batches', { batches: [batch] });
  expect((await inBatch()).status).toBe(429);
  const since = Date.now();
  await eventually(async () => {
    expect((await inBatch()).status).toBe(429);
    return Date.now() - since > 2_500; // counted anew in the meantime
  });
});

test('bytes and targets: those of the call count, too', async () => {
  const bytes = await tenant('bytes', { maxBytes: 60 });
  expect((await bytes.submit('a', '1', '2', '3')).status).toBe(200); // 10 bytes each
  expect((await bytes.submit('b'.repeat(60), '4')).body).toMatchObject({ quota: 'bytes of queued tasks', has: 30 });
  const targets = await tenant('targets', { maxTargets: 2 });
  expect((await targets.submit('a', '1')).status).toBe(200);
  expect((await targets.submit('b', '2')).status).toBe(200);
  expect((await targets.submit('a', '3')).status).toBe(200);
  expect((await targets.submit('c', '4')).body).toMatchObject({ quota: 'targets with queued tasks', has: 2 });
  expect(await countOf('targets')).toBe(3);
});

test('bytes are those of tags and metadata, too, of the call and of what waits', async () => {
  const { call } = await tenant('labelled', { maxBytes: 100 });
  const submit = (id: string, more: object) =>
    call('POST /v1/handlers/items/tasks', {
      tasks: [{ id: `labelled/${id}`, payload: { to: 'a' }, notBefore: '2100-01-01T00:00:00Z', ...more }],
    });
  const one = { tags: ['réd', 'blue'], metadata: { by: 'ada' } }; // 10 + 4 + 4 + 12 bytes
  expect((await submit('1', one)).status).toBe(200);
  const since = Date.now();
  await eventually(async () => {
    expect((await submit('2', { tags: ['x'.repeat(61)] })).body).toMatchObject({ has: 30 });
    return Date.now() - since > 2_500; // counted anew in the meantime
  });
  expect((await submit('3', { metadata: { by: 'x'.repeat(55) } })).body).toMatchObject({ has: 30 });
  expect((await submit('4', { tags: ['x'.repeat(60)] })).status).toBe(200);
});

test('executions and items: of lists and of fan-outs together', async () => {
  const { call } = await tenant('running', { maxExecutions: 1, maxItems: 6 });
  const execute = (n: number) =>
    call('POST /v1/executions', {
      template: { function_id: 'f', method: 'm' },
      arguments: Array.from({ length: n }, () => ['1']),
    });
  expect((await execute(7)).body).toMatchObject({ quota: 'items that have not ended', limit: 6 });
  const { body } = await execute(3);
  expect((await execute(1)).body).toMatchObject({ quota: 'executions that have not ended', has: 1 });
  const { body: fanout } = await call('POST /v1/fanouts', {});
  const add = (items: number) => call(`POST /v1/fanouts/${fanout.id}/items`, { items });
  expect((await add(3)).status).toBe(429);
  expect((await add(2)).status).toBe(201);
  await call(`POST /v1/executions/${body.request_id}/cancel`, {});
  await eventually(async () => (await execute(3)).status === 202);
});

test('open fan-outs are items, too: each counts as one, opened again by its id as none', async () => {
  const { call } = await tenant('opening', { maxItems: 3 });
  const rows = async (): Promise<number[]> => {
    const count = `select (select count(*) from fanout where tenant = 'opening')::int as n,
      (select count(*) from recipient where address->>'url' like 'https://opening/%')::int as told`;
    const [row] = (await world.database.pool.query<{ n: number; told: number }>(count)).rows;
    return [row!.n, row!.told];
  };
  const id = randomUUID();
  const opened = () => call('POST /v1/fanouts', { id });
  const keyed = () => call('POST /v1/fanouts', {}, { 'idempotency-key': 'k' });
  expect([(await opened()).status, (await opened()).status, (await keyed()).status]).toEqual([201, 201, 201]);
  const openings = Array.from({ length: 20 }, (_, i) =>
    call('POST /v1/fanouts', { notify: { url: `https://opening/${i}` } }),
  );
  const answers = await Promise.all(openings);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 429)]);
  expect(answers.find(({ status }) => status === 429)!.body).toMatchObject({ code: 'QUOTA', has: 3, limit: 3 });
  expect(await rows()).toEqual([3, 1]);
  await world.database.pool.query('delete from idempotency_key'); // as if the API was killed before it was kept
  expect([(await opened()).status, (await keyed()).status]).toEqual([201, 201]);
  const since = Date.now();
  await eventually(async () => {
    expect((await call('POST /v1/fanouts', {})).status).toBe(429);
    return Date.now() - since > 2_500; // counted anew in the meantime
  });
  expect(await rows()).toEqual([3, 1]);
  expect((await call(`POST /v1/fanouts/${id}/seal`, {})).status).toBe(200);
  await eventually(async () => (await call('POST /v1/fanouts', {})).status === 201);
});

test('a repeat that adds to a list which was not sent to its end is charged for what it adds', async () => {
  const { call } = await tenant('halfway', { maxExecutions: 1, maxItems: 10_002 });
  const { pool } = world.database;
  const lists = (n: number) => Array.from({ length: n }, (_, i) => [String(i)]);
  const execute = (n: number) =>
    call(
      'POST /v1/executions',
      { template: { function_id: 'f', method: 'm' }, arguments: lists(n) },
      { 'idempotency-key': 'half' },
    );
  expect((await execute(10_000)).status).toBe(202); // one part
  // As if the process had died amid the list: the answer is not kept, and more may follow.
  await pool.query(`update execution set state = 2 /* staging */ where tenant = 'halfway'`);
  await pool.query('delete from idempotency_key');
  expect((await execute(10_003)).body).toMatchObject({ quota: 'items that have not ended', has: 10_000 });
  expect((await execute(10_002)).status).toBe(202);
  const { rows } = await pool.query<{ items: number }>(`select items from execution where tenant = 'halfway'`);
  expect(rows).toEqual([{ items: 10_002 }]);
});

test('what is repeated under a key costs nothing, whether its answer was kept or not', async () => {
  const { call } = await tenant('keyed', { maxExecutions: 1, maxItems: 25_004 });
  const { body: fanout } = await call('POST /v1/fanouts', {});
  const list = { template: { function_id: 'f', method: 'm' }, arguments: [['1'], ['2'], ['3']] };
  const execute = () => call('POST /v1/executions', list, { 'idempotency-key': 'e' });
  const add = (body: object, headers = {}) => call(`POST /v1/fanouts/${fanout.id}/items`, body, headers);
  const large = () => add({ items: 25_000, key: 'mine' }); // in several portions
  const small = () => add({ items: 1 }, { 'idempotency-key': 'theirs' });
  const all = async () => [(await execute()).status, (await small()).status];
  expect(await all()).toEqual([202, 201]);
  expect((await large()).status).toBe(429); // 1 + 3 + 1 are there
  await world.database.pool.query(`update tenant set max_items = 25006 where name = 'keyed'`);
  const added = await eventually(async () => {
    const answer = await large();
    return answer.status === 201 && answer.body;
  });
  const again = async (): Promise<void> => {
    expect(await all()).toEqual([202, 201]);
    expect((await large()).body).toEqual(added);
  };
  for (let i = 0; i < 3; i++) await again();
  await world.database.pool.query('delete from idempotency_key'); // as if the API was killed before it was kept
  for (let i = 0; i < 3; i++) await again();
  expect((await add({ items: 2, key: 'other' })).status).toBe(429);
  expect((await add({ items: 1, key: 'other' })).status).toBe(201);
});

test('a fan-out that is opened again with another receiver is refused, and registers none', async () => {
  const { call } = await tenant('told', { maxItems: 1 });
  const id = randomUUID();
  const open = async (n: number): Promise<number> =>
    (await call('POST /v1/fanouts', { id, notify: { url: `https://told.example/${n}` } })).status;
  expect([await open(0), await open(0)]).toEqual([201, 201]);
  for (let n = 1; n < 4; n++) expect(await open(n)).toBe(422);
  expect((await call('POST /v1/fanouts', { id })).status).toBe(422);
  const { rows } = await world.database.pool.query(
    `select address->>'url' as url from recipient where address->>'url' like 'https://told.example/%'`,
  );
  expect(rows).toEqual([{ url: 'https://told.example/0' }]);
});

test('of submits that come at once no more are admitted than fit', async () => {
  const { submit } = await tenant('at-once', { maxQueued: 3 });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => submit('a', String(i))));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, ...Array.from({ length: 17 }, () => 429)]);
  expect(await countOf('at-once')).toBe(3);
});

test('a dry run is refused by a quota as the call would be, and uses none of it', async () => {
  const { call } = await tenant('dry', { maxQueued: 1, maxExecutions: 1, maxItems: 2 });
  const tasks = (...ids: string[]) => ({ tasks: ids.map((id) => ({ id: `dry/${id}`, payload: { to: 'a' } })) });
  const list = (n: number) => ({
    template: { function_id: 'f', method: 'm' },
    arguments: Array.from({ length: n }, () => ['1']),
  });
  const submit = 'POST /v1/handlers/items/tasks';
  const dry = async (route: string, body: unknown): Promise<number> =>
    (await call(route, body, { 'dry-run': 'true' })).status;
  expect(await dry(submit, tasks('1', '2'))).toBe(429);
  expect(await dry('POST /v1/executions', list(3))).toBe(429);
  for (let i = 0; i < 5; i++) {
    expect(await dry(submit, tasks('1'))).toBe(200);
    expect(await dry('POST /v1/executions', list(1))).toBe(200);
    expect(await dry('POST /v1/fanouts', {})).toBe(200);
  }
  expect((await call(submit, tasks('1'))).status).toBe(200);
  expect((await call('POST /v1/executions', list(1))).status).toBe(202);
  expect((await call('POST /v1/fanouts', {})).status).toBe(201);
  expect(await dry('POST /v1/fanouts', {})).toBe(429);
});

test('a tenant without quotas, and callers of no tenant, are not counted', async () => {
  const { submit } = await tenant('free', {});
  const ids = Array.from({ length: 500 }, (_, i) => String(i));
  expect((await submit('a', ...ids)).status).toBe(200);
});

test('the counts of a thousand tenants are kept, and no more', async () => {
  const { pool } = world.database;
  await pool.query(`insert into tenant (name, max_items, created_at)
    select 'kept-' || n, 1, clock() from generate_series(0, 1000) n`);
  const quotas = new Quotas(pool, () => 0); // no time passes: what is kept is not counted anew
  const isFull = (name: string): Promise<boolean> =>
    quotas.items(name, 1).then(
      () => false,
      () => true,
    );
  expect([await isFull('kept-0'), await isFull('kept-0')]).toEqual([false, true]);
  for (let n = 1; n < 1_000; n++) await quotas.items(`kept-${n}`, 0);
  expect(await isFull('kept-0')).toBe(true);
  await quotas.items('kept-1000', 0);
  expect(await isFull('kept-0')).toBe(false);
});

test('of the addresses of callbacks so many are known as may be kept, however many there are', async () => {
  const { pool } = world.database;
  let statements = 0;
  const counted = new Proxy(pool, {
    get: (of, name) => {
      if (name === 'query') statements++;
      return Reflect.get(of, name) as unknown;
    },
  });
  const recipients = new Recipients(3);
  const ask = async (...names: string[]): Promise<number> => {
    statements = 0;
    const tasks = names.map((name) => ({ callback: { url: `https://kept.example/${name}` } }));
    await recipients.idsOf(counted, tasks);
    return statements / 2; // a recipient is registered by two
  };
  expect([await ask('a', 'b', 'c'), await ask('c', 'b', 'a')]).toEqual([3, 0]);
  expect(await ask('d', 'd', 'a')).toBe(2);
});

test('a count that took long is used for a minute at most', async () => {
  await tenant('slow', { maxQueued: 1 });
  const { pool } = world.database;
  let ms = 0;
  const query = (...args: Parameters<typeof pool.query>): unknown => {
    if ((args[0] as { name?: string }).name === 'read-tenant-backlog') ms += 30_000;
    return pool.query(...args);
  };
  const slow = Object.assign(Object.create(pool) as typeof pool, { query });
  const admit = new Quotas(slow, () => ms).tasks('slow', 'items');
  const task = { bytes: 2, target: 'a', labels: null } as never;
  await admit([task]);
  await expect(admit([task])).rejects.toThrow('may have 1');
  ms += 60_000;
  await admit([task]); // counted again: none was stored
});
