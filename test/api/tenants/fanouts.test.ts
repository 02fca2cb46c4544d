import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken } from '../../../postgres/api/token';
import { idOfKey } from '../../../workers/api/idempotency';
import { hashToken, newToken } from '../../../workers/api/tokens';
import type { ApiWorld } from '../world';
import { openWorld } from '../world';

/**
 * The id of a fan-out is taken by who opens it first, and no other caller has that fan-out; and a
 * caller that holds the store up holds up no other one.
 */

let world: ApiWorld;
const tokens = { acme: newToken(), rival: newToken(), all: newToken() };
/** Number of the caller with the token of everything: callers are numbered from 1. */
let caller: number;
beforeAll(async () => {
  world = await openWorld();
  const { pool } = world.database;
  const make = async (name: keyof typeof tokens, limits: { tenant?: string }): Promise<number> =>
    (await insertToken(pool, { name, hash: hashToken(tokens[name]), scopes: ['submit', 'read'], ...limits })).id;
  for (const tenant of ['acme', 'rival'] as const) {
    await upsertTenant(pool, tenant, NO_QUOTAS);
    await make(tenant, { tenant });
  }
  caller = await make('all', {});
});
afterAll(() => world.stop());

const open = (by: keyof typeof tokens, body: object, key?: string) =>
  world.call('POST /v1/fanouts', { token: tokens[by], body, ...(key === undefined ? {} : { key }) });

test("a tenant that computes the id of another's key does not take it", async () => {
  const id = idOfKey({ caller, route: 'openFanout', key: 'import-17', request: Buffer.alloc(0) });
  for (const by of ['acme', 'all'] as const)
    expect(await open(by, { id })).toMatchObject({ status: 400, body: { errors: [{ field: 'id' }] } });
  const opened = await open('all', {}, 'import-17');
  expect([opened.status, opened.body.id]).toEqual([201, id]);
  await world.database.pool.query('delete from idempotency_key'); // as if the API was killed before it was kept
  expect((await open('all', {}, 'import-17')).body.id).toBe(id);
  expect((await world.call(`GET /v1/fanouts/${id}`, { token: tokens.acme })).status).toBe(404);
});

test('a fan-out of a tenant is opened again by that tenant alone, and tells no other how it was opened', async () => {
  const id = randomUUID();
  const opening = { id, userKey: 'of acme' };
  expect((await open('acme', opening)).status).toBe(201);
  expect((await open('acme', opening)).status).toBe(201);
  expect((await open('rival', opening)).status).toBe(404);
  for (const body of [opening, { id }]) {
    const refused = await open('all', body);
    expect([refused.status, refused.body.code]).toEqual([422, 'INVALID_ARGUMENT']);
    expect(refused.text).not.toContain('of acme');
  }
  await expect(world.client.openFanout({ ...opening, tenant: 'rival' })).rejects.toThrow('opened for another tenant');
  expect((await world.client.openFanout({ ...opening, tenant: 'acme' })).id).toBe(id);
});

test('nor does a tenant have one of no tenant', async () => {
  const id = randomUUID();
  expect((await open('all', { id })).status).toBe(201);
  expect((await open('acme', { id })).status).toBe(404);
  await expect(world.client.openFanout({ id, tenant: 'acme' })).rejects.toThrow('opened for another tenant');
  expect((await world.client.openFanout({ id })).id).toBe(id);
});

const ids = (n: number): string[] => Array.from({ length: n }, (_, at) => `acme/${at}`);
test('calls that name many things take turns, as they hold a connection for long', () => {
  const many = (n: number) => ({ items: ids(n), ids: ids(n), arguments: ids(n).map((one) => [one]) });
  const heavy = (body: unknown) => world.api.routes.filter(({ isHeavy }) => isHeavy?.(body)).map(({ id }) => id);
  const always = ['submitBatches', 'dryRunBulk'];
  for (const few of [many(499), { items: 499 }, undefined, null, {}, { items: 'x', ids: {} }])
    expect(heavy(few).sort()).toEqual([...always].sort());
  const lists = ['addItems', 'ackItems', 'reopenItems', 'readItems', 'lookUpTasks', 'cancelTasks', 'resolveTasks'];
  expect(heavy(many(500)).sort()).toEqual([...always, ...lists, 'execute'].sort());
  expect(heavy({ items: 500 })).toContain('addItems');
});

test.each<[string, string, object | undefined]>([
  ['GET /v1/fanouts/*?exact=true', 'segment', undefined],
  ['POST /v1/fanouts/*/items', 'segment', { items: 20_000 }],
  ['POST /v1/tasks:cancel', 'task', { ids: ids(500) }],
])('while all that a caller asks by %s waits for the store, another one is answered', async (route, table, body) => {
  const fanout = (await open('acme', {})).body.id as string;
  await world.call(`POST /v1/fanouts/${fanout}/items`, { token: tokens.acme, body: { items: 1 } });
  const holder = await world.database.pool.connect();
  try {
    await holder.query('begin');
    await holder.query(`lock table ${table} in access exclusive mode`);
    const asked = { token: tokens.acme, body };
    const all = Array.from({ length: 12 }, () => world.call(route.replace('*', fanout), asked));
    await sleep(150);
    const signal = AbortSignal.timeout(3_000);
    const other = await world.call(`GET /v1/fanouts/${randomUUID()}`, { token: tokens.rival, signal });
    expect(other.status).toBe(404);
    await holder.query('rollback');
    expect((await Promise.all(all)).filter(({ status }) => status >= 300)).toEqual([]);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
});
