import { defineHandler } from '../../../handlers';
import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken, SCOPES } from '../../../postgres/api/token';
import { hashToken, newToken } from '../../../workers/api/tokens';
import type { ApiWorld } from '../world';
import { openWorld, worldHandlers } from '../world';
import { halt } from './halt';

/** Names of lanes, and what feeds them, are one tenant's or one handler's. @slow */

interface Order {
  tenant: string;
  po: string;
}
/** All orders of a tenant go through one lane. */
const orders = defineHandler<Order>({
  name: 'orders',
  target: ({ po }) => po,
  service: (_target, { tenant }) => `${tenant}/all`,
  limits: { maxItems: 10 },
  submit: async () => ({ results: [] }),
});

let world: ApiWorld;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  world = await openWorld({ handlers: [...worldHandlers(), orders] });
  const { pool } = world.database;
  const make = async (name: string, limits: { tenant?: string; handlers?: string[] }): Promise<void> => {
    tokens[name] = newToken();
    await insertToken(pool, { name, hash: hashToken(tokens[name]), scopes: SCOPES, ...limits });
  };
  for (const tenant of ['acme', 'rival']) {
    await upsertTenant(pool, tenant, NO_QUOTAS);
    await make(tenant, { tenant });
  }
  await make('acmesOrders', { tenant: 'acme', handlers: ['ord*'] });
  await make('ofOrders', { handlers: ['orders'] });
  await make('acmesOthers', { tenant: 'acme', handlers: ['lane', 'x*'] });
});
afterAll(() => world.stop());

let n = 0;
const ID: Record<string, string> = { acme: 'acme/', acmesOrders: 'acme/', rival: 'rival/', ofOrders: 'none/' };
/** Submits one item in a batch; its id begins with `begin`. */
const batch = (
  by: string,
  handler: string,
  service: string,
  payload: object,
  { begin = ID[by]!, headers = {} }: { begin?: string; headers?: Record<string, string> } = {},
) =>
  world.call(`POST /v1/handlers/${handler}/batches`, {
    token: tokens[by]!,
    headers,
    body: { batches: [{ service, items: [{ id: `${begin}${++n}`, payload }] }] },
  });
const task = (by: string, payload: Order) =>
  world.call('POST /v1/handlers/orders/tasks', {
    token: tokens[by]!,
    body: { tasks: [{ id: `${ID[by]!}${++n}`, payload }] },
  });

test('a list of lanes shows a token of a tenant and handlers those of its handlers', async () => {
  expect((await batch('acme', 'orders', 'acme/all', { tenant: 'acme', po: 'acme/po' })).status).toBe(200);
  expect((await batch('acme', 'lane', 'acme/x', { to: 'acme/x' })).status).toBe(200);
  const listed = async (token: string): Promise<string[]> =>
    (await world.call('GET /v1/lanes', { token: tokens[token]! })).body.lanes.map(
      ({ service }: { service: string }) => service,
    );
  expect(await listed('acme')).toEqual(['acme/all', 'acme/x']);
  expect(await listed('acmesOrders')).toEqual(['acme/all']);
  expect(await listed('acmesOthers')).toEqual(['acme/x']);
  expect(await listed('rival')).toEqual([]);
});

const laneOf = async (target: string): Promise<unknown[]> =>
  (
    await world.database.pool.query(
      `select l.service from target t left join lane l on l.id = t.lane_id
where t.key = $1 and t.handler_id = (select id from handler where name = 'orders')`,
      [target],
    )
  ).rows;

test('a fix that is refused for its target binds it to no lane', async () => {
  const { body } = await batch('acme', 'orders', 'acme/all', { tenant: 'acme', po: 'acme/po' });
  await halt(world.database.pool, 'acme/all', body.batches[0].batch);
  const fix = (token: string, id: string, po: string) =>
    world.call('POST /v1/lanes/acme%2Fall/fix', {
      token,
      body: { items: [{ id, payload: { tenant: 'acme', po } }] },
    });
  const refused = await fix(tokens.acme!, 'acme/other', 'acme/other');
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('items of the same target')]);
  expect(await laneOf('acme/other')).toEqual([]);
  expect((await fix(tokens.acme!, 'acme/fixed', 'acme/po')).status).toBe(200);
});

test('no tenant binds a target that is not named as its own, and one that its lane has goes on', async () => {
  const foreign = { tenant: 'acme', po: 'rivals-po' };
  for (const refused of [
    await batch('acme', 'orders', 'acme/all', foreign),
    await task('acme', foreign),
    await batch('acme', 'orders', 'acme/all', foreign, { headers: { 'dry-run': 'true' } }),
  ])
    expect([refused.status, refused.text]).toEqual([
      422,
      expect.stringContaining('target: expected \\"acme/\\" at the beginning'),
    ]);
  expect(await laneOf('rivals-po')).toEqual([]);
  expect((await task('rival', { tenant: 'rival', po: 'rival/po' })).status).toBe(200);
  const old = { tenant: 'acme', po: 'from-before' };
  await world.client.submitBatch('orders', 'acme/all', [{ id: 'acme/from-before', payload: old }]);
  expect((await batch('acme', 'orders', 'acme/all', old)).status).toBe(200);
  expect((await task('acme', old)).status).toBe(200);
  // It tells the other tenant no more than of one that no lane has.
  const words = async (po: string): Promise<string> =>
    (await task('rival', { tenant: 'rival', po })).text.replaceAll(po, '');
  expect(await words('from-before')).toBe(await words('from-never'));
});

test('a token of a tenant and handlers joins no lane of another handler', async () => {
  const { pool } = world.database;
  await pool.query(
    `update lane set handler_id = (select id from handler where name = 'lane') where service = 'acme/all'`,
  );
  const order = { tenant: 'acme', po: 'acme/po' };
  for (const by of [await batch('acmesOrders', 'orders', 'acme/all', order), await task('acmesOrders', order)])
    expect([by.status, by.body.code]).toEqual([404, 'NOT_FOUND']);
  expect((await batch('acme', 'orders', 'acme/all', order)).status).toBe(200);
});

test('a token of handlers alone gives no name of a tenant, and joins no lane of another handler', async () => {
  const refused = [
    await batch('ofOrders', 'orders', 'rival/all', { tenant: 'rival', po: 'po' }),
    await batch('ofOrders', 'orders', 'none/all', { tenant: 'none', po: 'po' }, { begin: 'rival/' }),
    await batch('ofOrders', 'orders', 'none/all', { tenant: 'none', po: 'rival/po2' }),
    await task('ofOrders', { tenant: 'rival', po: 'po' }),
    await task('ofOrders', { tenant: 'none', po: 'rival/po2' }),
  ];
  expect(refused.map(({ status, body }) => [status, body.code])).toEqual(refused.map(() => [422, 'INVALID_ID']));
  expect(await laneOf('rival/po2')).toEqual([]);
  expect((await task('ofOrders', { tenant: 'none', po: 'none/po' })).status).toBe(200);
  expect((await batch('ofOrders', 'orders', 'none/all', { tenant: 'none', po: 'none/po' })).status).toBe(200);
  await world.client.submit('lane', { id: 'taken', payload: { to: 'taken/all' } });
  const taken = [
    await batch('ofOrders', 'orders', 'taken/all', { tenant: 'taken', po: 'taken/po' }),
    await task('ofOrders', { tenant: 'taken', po: 'taken/po' }),
  ];
  expect(taken.map(({ status }) => status)).toEqual([404, 404]);
});
