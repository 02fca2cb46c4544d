import { randomUUID } from 'node:crypto';
import { NO_QUOTAS, upsertTenant } from '../../postgres/api/tenant';
import { insertToken, SCOPES } from '../../postgres/api/token';
import { isChange } from '../../workers/api/dryRuns/dryRun';
import type { Route } from '../../workers/api/route';
import { hashToken, newToken } from '../../workers/api/tokens';
import type { ApiWorld, Place } from '../api/world';
import { openWorld, worldHandlers } from '../api/world';
import { defineHandler } from '../../handlers';
import { expectWhole } from '../helpers/whole';
import { Tally } from './tally';
import { COMMON_LANE, NODE, placed, plant, SHARED_LIMIT } from './tenants/planted';
import type { Things } from './tenants/table';
import { attacks, cancelAll, OWN_PART } from './tenants/table';

/** A tenant with every scope, and a token of two handlers, against everything of another tenant. */

const tally = new Tally('another tenant, another handler');
/** Ordered, and the first submit says to which lane a target belongs. */
const unbound = defineHandler<Place>({
  name: 'unbound',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  lane: { approach: 'serial' },
  submit: async () => ({ results: [] }),
});
let world: ApiWorld;
/** Number of the one that was given up. */
let callback: number;
const tokens = { acme: '', rival: '', narrow: '', all: '' };

const make = async (limits: { tenant?: string; handlers?: string[] }): Promise<string> => {
  const token = newToken();
  await insertToken(world.database.pool, { name: 'attack', hash: hashToken(token), scopes: SCOPES, ...limits });
  return token;
};

beforeAll(async () => {
  world = await openWorld({ handlers: [...worldHandlers(), unbound, placed] });
  for (const name of ['acme', 'rival']) await upsertTenant(world.database.pool, name, NO_QUOTAS);
  tokens.all = await make({});
  tokens.acme = await make({ tenant: 'acme' });
  tokens.rival = await make({ tenant: 'rival' });
  tokens.narrow = await make({ handlers: ['nar*', 'unbound'] });
  await world.client.submit('items', { id: 'of-nobody', payload: { to: 'a' } });
  await world.client.submit('lane', { id: 'in-common', payload: { to: COMMON_LANE } });
  callback = await plant(world.database.pool);
});
afterAll(async () => {
  await expectWhole(world.client);
  await world.stop();
});

/** Makes one of everything as this tenant. */
const makeThings = async (tenant: 'acme' | 'rival'): Promise<Things> => {
  const token = tokens[tenant];
  const call = async (route: string, body: unknown) => {
    const answer = await world.call(route, { body, token });
    expect([route, answer.status, answer.status < 300 ? '' : answer.text]).toEqual([route, answer.status, '']);
    return answer.body;
  };
  const named = (id: string) => ({ id: `${tenant}/${id}`, payload: { to: `${tenant}/x` } });
  await call('POST /v1/handlers/items/tasks', { tasks: [named('1'), named('2')] });
  const { batches } = await call('POST /v1/handlers/lane/batches', {
    batches: [{ service: `${tenant}/x`, items: [named('l')] }],
  });
  const { request_id: execution } = await call('POST /v1/executions', {
    template: { function_id: 'f', method: 'm' },
    arguments: [['1']],
  });
  const { id: fanout } = await call('POST /v1/fanouts', {});
  await call(`POST /v1/fanouts/${fanout}/items`, { items: 3 });
  const { id: bulk } = await world.client.bulk.start(cancelAll);
  return { batch: batches[0].batch, execution, fanout, bulk, callback };
};

/** Everything that the other has, or nobody; ages left out. */
const seen = async ({ batch, execution, fanout, bulk }: Things): Promise<string> => {
  const paths = [
    ...['1', '2', 'l'].map((id) => `/v1/tasks/rival%2F${id}`),
    `/v1/batches/${batch}`,
    `/v1/lanes/${encodeURIComponent('rival/x')}`,
    `/v1/executions/${execution}`,
    `/v1/fanouts/${fanout}`,
  ];
  const texts = [];
  for (const path of paths) texts.push((await world.call(`GET ${path}`, { token: tokens.rival })).text);
  const ofNobody = ['nodes', 'partitions', 'callbacks', `shared-limits/${SHARED_LIMIT}`];
  for (const path of [`bulk/${bulk}`, ...ofNobody])
    texts.push((await world.call(`GET /v1/${path}`, { token: tokens.all })).text);
  return texts.join('\n').replace(/"(\w*(Ms|At)|alive)":[^,}]+/g, '');
};

const REFUSED = [404, 422];

test('a tenant reaches nothing of another by any route, and changes nothing', async () => {
  await makeThings('acme');
  const theirs = await makeThings('rival');
  const before = await seen(theirs);
  const table = attacks(theirs);
  const routes = world.api.routes.filter(({ id }) => !OWN_PART.includes(id));
  expect(Object.keys(table).sort()).toEqual(routes.map(({ id }) => id).sort());
  for (const caller of ['acme', 'narrow'] as const)
    for (const route of routes)
      for (const [path, body] of table[route.id]!) {
        if (isChange(route)) await attempt(caller, route, path, body, { 'dry-run': 'true' });
        await attempt(caller, route, path, body);
      }
  expect(await seen(theirs)).toBe(before);
  for (const id of ['acme%2Fnew', 'rival%2F3', 'of-none'])
    expect((await world.call(`GET /v1/tasks/${id}`, { token: tokens.all })).status).toBe(404);
  tally.expectNoneThrough(250);
});

const attempt = async (
  caller: 'acme' | 'narrow',
  { method, id }: Route,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<void> => {
  const sent = body ?? (method === 'GET' ? undefined : {});
  // What is another's is not waited for either.
  const signal = AbortSignal.timeout(20_000);
  const answer = await world.call(`${method} ${path}`, { token: tokens[caller], body: sent, headers, signal });
  tally.add(
    `${caller} ${id} ${path} ${JSON.stringify(body)} ${JSON.stringify(headers)}`,
    REFUSED.includes(answer.status) ? null : `${answer.status} ${answer.text}`,
  );
};

test('a thing of another is answered exactly as one that does not exist', async () => {
  const { fanout, execution, batch, bulk } = await makeThingsOnce();
  const none = '00000000-0000-4000-8000-000000000000';
  for (const [path, other] of [
    ['/v1/tasks/rival%2F1', '/v1/tasks/rival%2F9'],
    [`/v1/fanouts/${fanout}`, `/v1/fanouts/${none}`],
    [`/v1/executions/${execution}`, `/v1/executions/${none}`],
    ['/v1/lanes/rival%2Fx', '/v1/lanes/rival%2F9'],
    [`/v1/batches/${batch}`, '/v1/batches/999999'],
    [`/v1/bulk/${bulk}`, `/v1/bulk/${none}`],
  ]) {
    const [a, b] = await Promise.all([path, other].map((one) => world.call(`GET ${one}`, { token: tokens.acme })));
    const words = (text: string): string => text.replace(/rival\/\w+|[0-9a-f-]{36}|\b\d+\b/g, '_');
    expect([a!.status, words(a!.text)]).toEqual([404, words(b!.text)]);
  }
});
let once: Promise<Things> | null = null;
const makeThingsOnce = (): Promise<Things> => (once ??= makeThings('rival'));

test('lists and lookups show a tenant its own part, all of it', async () => {
  const { execution } = await makeThings('acme');
  await makeThingsOnce();
  const get = async (route: string, body?: unknown) => (await world.call(route, { token: tokens.acme, body })).body;
  const { tasks } = await get('POST /v1/tasks:lookup', { ids: ['rival/1', 'acme/1', 'acme/2', 'rival/l'] });
  expect(tasks.map(({ id }: { id: string }) => id)).toEqual(['acme/1', 'acme/2']);
  const { lanes } = await get('GET /v1/lanes');
  expect(lanes.map(({ service }: { service: string }) => service)).toEqual(['acme/x']);
  const { executions } = await get('GET /v1/executions?limit=1000');
  expect(executions.map(({ id }: { id: string }) => id)).toContain(execution);
  expect(executions).toHaveLength((await ownExecutions('acme')).length);
  expect((await get('GET /v1/tasks/acme%2F1')).id).toBe('acme/1');
  expect((await get('POST /v1/tasks:cancel', { ids: ['acme/1', 'acme/none'] })).cancelled).toEqual(['acme/1']);
});
const ownExecutions = async (tenant: string): Promise<unknown[]> =>
  (await world.database.pool.query('select from execution where tenant = $1', [tenant])).rows;

test('a token of a tenant and handlers starts and sees executions of functions of these names', async () => {
  const token = await make({ tenant: 'acme', handlers: ['nar*', 'resize'] });
  const start = (by: string, functionId: string, more: object = {}) =>
    world.call('POST /v1/executions', {
      token: by,
      body: { template: { function_id: functionId, method: 'GET' }, arguments: [['https://a.example/']] },
      ...more,
    });
  const before = (await ownExecutions('acme')).length;
  for (const name of ['f', 'http', 'na', 'Narrow', 'resize2', ' resize', 'resize*', '*', randomUUID()])
    for (const more of [{}, { key: `run-${encodeURIComponent(name)}` }, { headers: { 'dry-run': 'true' } }]) {
      const { status, text } = await start(token, name, more);
      tally.add(`execute ${name} ${JSON.stringify(more)}`, status === 404 ? null : `${status} ${text}`);
    }
  expect(await ownExecutions('acme')).toHaveLength(before);
  const own = [await start(token, 'narrow'), await start(token, 'resize')].map(({ status, body }) => {
    expect(status).toBe(202);
    return body.request_id as string;
  });
  const { body: other } = await start(tokens.acme, 'http');
  const table = attacks({ batch: 0, execution: other.request_id, fanout: '', bulk: '', callback: 0 });
  for (const { id, method } of world.api.routes.filter(({ path }) => path.startsWith('/v1/executions/{')))
    for (const [path] of table[id]!) {
      const asked = { token, body: method === 'GET' ? undefined : {} };
      const { status, text } = await world.call(`${method} ${path}`, asked);
      tally.add(`${id} ${path} of another function`, status === 404 ? null : `${status} ${text}`);
    }
  expect((await world.call(`GET /v1/executions/${other.request_id}`, { token: tokens.acme })).body.state).toBe(
    'created',
  );
  for (const id of own) expect((await world.call(`GET /v1/executions/${id}`, { token })).status).toBe(200);
  const { body: list } = await world.call('GET /v1/executions?limit=2', { token });
  expect(list.executions.map(({ id }: { id: string }) => id)).toEqual(own.toReversed());
  tally.expectNoneThrough(150);
});

test('a token of one handler does all there is with it', async () => {
  const call = (route: string, body?: unknown) => world.call(route, { token: tokens.narrow, body });
  const task = { id: 'of-narrow', payload: { to: 'a' } };
  expect((await call('POST /v1/handlers/narrow/tasks', { tasks: [task] })).status).toBe(200);
  expect((await call('GET /v1/tasks/of-narrow')).status).toBe(200);
  expect((await call('POST /v1/handlers/narrow/pause', {})).status).toBe(200);
  expect((await call('POST /v1/handlers/narrow/resume', {})).status).toBe(200);
  expect((await call('GET /v1/handlers/narrow/targets')).body.targets).toHaveLength(1);
  const after = { id: 'after', payload: { to: 'a' }, dependsOn: ['acme/2'] };
  expect((await call('POST /v1/handlers/narrow/tasks', { tasks: [after] })).status).toBe(404);
  expect((await call('POST /v1/tasks:cancel', { ids: ['of-narrow'] })).body.cancelled).toEqual(['of-narrow']);
});

/** Two ids of no task; and a batch, and a task, of another handler. */
const NOT_THERE = [
  ...['/v1/handlers/items/complete', '/v1/handlers/narrow/redrive'],
  ...['/v1/tasks/acme%2F..%2Frival%2F1', '/v1/tasks/rival%2Fnone'],
];

test('all that the attacks name is there: a token of everything is told of nothing that it is not', async () => {
  const table = attacks(await makeThingsOnce());
  const missing: string[] = [];
  for (const { id, method } of world.api.routes)
    for (const [path, body] of id.startsWith('watch') ? [] : (table[id] ?? [])) {
      if (path.includes('wait=')) continue;
      const sent = body ?? (method === 'GET' ? undefined : {});
      const { status } = await world.call(`${method} ${path}`, { token: tokens.all, body: sent });
      if (status === 404) missing.push(path);
    }
  expect(missing.sort()).toEqual(NOT_THERE);
  expect(await drained()).toBe(true);
});
const drained = async (): Promise<boolean> =>
  (await world.call('GET /v1/nodes', { token: tokens.all })).body.nodes.find(({ id }: { id: string }) => id === NODE)
    .drained;
