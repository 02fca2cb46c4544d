import { defineHandler } from '../../../handlers';
import { upsertTenant } from '../../../postgres/api/tenant';
import { insertToken, SCOPES } from '../../../postgres/api/token';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { expectWhole } from '../../helpers/whole';
import type { ApiWorld } from '../world';
import { openWorld, worldHandlers } from '../world';

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
const NO_LIMITS = { maxQueued: null, maxBytes: null, maxTargets: null, maxExecutions: null, maxItems: null };

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
    await upsertTenant(pool, tenant, NO_LIMITS);
    await make(tenant, { tenant });
  }
  await make('acmesOrders', { tenant: 'acme', handlers: ['ord*'] });
  await make('acmesOthers', { tenant: 'acme', handlers: ['lane', 'x*'] });
});
afterAll(async () => {
  await expectWhole(world.client);
  await world.stop();
});

let n = 0;
/** Submits one item in a batch; `id` is made of the beginning that is given. */
const batch = (by: string, handler: string, service: string, payload: object, begin = `${by}/`) =>
  world.call(`POST /v1/handlers/${handler}/batches`, {
    token: tokens[by]!,
    body: { batches: [{ service, items: [{ id: `${begin}${++n}`, payload }] }] },
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
