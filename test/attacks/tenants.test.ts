import { upsertTenant } from '../../postgres/api/tenant';
import { insertToken, SCOPES } from '../../postgres/api/token';
import type { Route } from '../../workers/api/route';
import { hashToken, newToken } from '../../workers/api/tokens';
import type { ApiWorld, Place } from '../api/world';
import { openWorld, worldHandlers } from '../api/world';
import { defineHandler } from '../../handlers';
import { expectWhole } from '../helpers/whole';
import { Tally } from './tally';

/** A tenant with every scope, and a token of one handler, against everything of another tenant. */

const tally = new Tally('another tenant, another handler');
const NO_LIMITS = { maxQueued: null, maxBytes: null, maxTargets: null, maxExecutions: null, maxItems: null };
/** Ordered, and the first submit says to which lane a target belongs. */
const unbound = defineHandler<Place>({
  name: 'unbound',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  lane: { approach: 'serial' },
  submit: async () => ({ results: [] }),
});
let world: ApiWorld;
const tokens = { acme: '', rival: '', narrow: '', all: '' };

const make = async (limits: { tenant?: string; handlers?: string[] }): Promise<string> => {
  const token = newToken();
  await insertToken(world.database.pool, { name: 'attack', hash: hashToken(token), scopes: SCOPES, ...limits });
  return token;
};

beforeAll(async () => {
  world = await openWorld({ handlers: [...worldHandlers(), unbound] });
  for (const name of ['acme', 'rival']) await upsertTenant(world.database.pool, name, NO_LIMITS);
  tokens.all = await make({});
  tokens.acme = await make({ tenant: 'acme' });
  tokens.rival = await make({ tenant: 'rival' });
  tokens.narrow = await make({ handlers: ['nar*'] });
});
afterAll(async () => {
  await expectWhole(world.client);
  await world.stop();
});

type Things = Record<'bulk' | 'execution' | 'fanout', string> & { batch: number };

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
  return { batch: batches[0].batch, execution, fanout, bulk };
};

const cancelAll = { handler: 'items', action: { do: 'cancel' } } as const;
const patchAll = { handler: 'items', action: { do: 'update', payloadPatch: { note: 'n' } } };
const mine = { id: 'acme/new', payload: { to: 'acme/x' } };

type Attacks = Record<string, readonly [path: string, body?: unknown][]>;
/** For each route how a thing of the other is named; `many`: several forms of it. */
const attacks = ({ batch, execution, fanout, bulk }: Things): Attacks => {
  const stolen = { id: 'rival/3', payload: { to: 'rival/x' } };
  const handlers = ['items', 'lane'];
  const ofHandler = (verb: string, body?: unknown): [string, unknown?][] =>
    handlers.map((name) => [`/v1/handlers/${name}${verb}`, body]);
  const ids = [`${fanout}:0:0`];
  const lane = `/v1/lanes/${encodeURIComponent('rival/x')}`;
  const target = `/targets/${encodeURIComponent('rival/x')}`;
  return {
    submitTasks: [
      ['/v1/handlers/items/tasks', { tasks: [stolen] }],
      ['/v1/handlers/items/tasks', { tasks: [mine, stolen] }],
      ['/v1/handlers/items/tasks', { tasks: [stolen], partial: true }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: 'rival/1' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: 'acme' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: 'ACME/1' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: ' acme/1' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, id: 'acme\u2215x' }] }],
      ['/v1/handlers/items/tasks', { tasks: [{ ...mine, dependsOn: ['rival/1'] }] }],
      ['/v1/handlers/lane/tasks', { tasks: [{ ...mine, payload: { to: 'rival/x' } }] }],
      ['/v1/handlers/unbound/tasks', { tasks: [mine] }],
    ],
    getTask: [
      ['/v1/tasks/rival%2F1?wait=60'],
      ['/v1/tasks/rival%2F1'],
      ['/v1/tasks/rival%2Fnone'],
      ['/v1/tasks/acme%2F..%2Frival%2F1'],
    ],
    explainTask: [['/v1/tasks/rival%2F1/explain'], ['/v1/tasks/rival%2Fl/explain']],
    cancelTasks: [
      ['/v1/tasks:cancel', { ids: ['rival/1'] }],
      ['/v1/tasks:cancel', { ids: ['acme/1', 'rival/2'] }],
    ],
    resolveTasks: [['/v1/tasks:resolve', { ids: ['rival/1'], as: 'failed' }]],
    getStatus: [['/v1/status']],
    getHandler: ofHandler(''),
    watchHandler: ofHandler('/events'),
    flushHandler: ofHandler('/flush', {}),
    pauseHandler: ofHandler('/pause', {}),
    resumeHandler: ofHandler('/resume', {}),
    redriveTasks: ofHandler('/redrive', { only: 'failed' }),
    completeBatch: ofHandler('/complete', { batchId: batch, status: 'expired' }),
    getHandlerPage: handlers.map((name) => [`/dashboard/handlers/${name}`]),
    getTargetPage: handlers.map((name) => [`/dashboard/handlers/${name}${target}`]),
    listTargets: ofHandler('/targets'),
    listTasks: [...ofHandler('/tasks?state=created'), ...ofHandler('/tasks?tag=t')],
    listAllTasks: [['/v1/tasks?state=failed'], ['/v1/tasks?tag=t']],
    setTarget: ofHandler(target, { lingerMs: 1 }),
    unsetTarget: ofHandler(target),
    listLimits: [['/v1/limits'], ['/v1/limits?handler=items']],
    getLimits: handlers.map((name) => [`/v1/limits/${name}`]),
    setLimits: handlers.map((name) => [`/v1/limits/${name}`, { concurrency: { perHandler: 1 } }]),
    removeLimits: handlers.map((name) => [`/v1/limits/${name}`]),
    getTargetLimits: handlers.map((name) => [`/v1/limits/${name}${target}`]),
    setTargetLimits: handlers.map((name) => [`/v1/limits/${name}${target}`, { concurrency: { perTarget: 1 } }]),
    removeTargetLimits: handlers.map((name) => [`/v1/limits/${name}${target}`]),
    listSharedLimits: [['/v1/shared-limits']],
    getSharedLimit: [['/v1/shared-limits/key']],
    setSharedLimit: [['/v1/shared-limits/key', { concurrency: 1 }]],
    removeSharedLimit: [['/v1/shared-limits/key']],
    flushTarget: ofHandler(`${target}/flush`),
    pauseTarget: ofHandler(`${target}/pause`, {}),
    resumeTarget: ofHandler(`${target}/resume`),
    submitBatches: [
      ['/v1/handlers/lane/batches', { batches: [{ service: 'rival/x', items: [mine] }] }],
      ['/v1/handlers/lane/batches', { batches: [{ service: 'acme/x', items: [stolen] }] }],
      ['/v1/handlers/unbound/batches', { batches: [{ service: 'acme/x', items: [mine] }] }],
      ['/v1/handlers/lane/batches', { batches: [{ service: 'acme/x', items: [mine], dependsOn: [batch] }] }],
    ],
    listBatches: ofHandler('/batches?state=open'),
    ...{ getBatch: [[`/v1/batches/${batch}`]], getBatchHalves: [[`/dashboard/batches/${batch}/halves`]] },
    getLaneBatch: [[`/v1/batches/${batch}/lane`]],
    getReceipts: [[`/v1/batches/${batch}/receipts`]],
    cancelBatch: [[`/v1/batches/${batch}/cancel`]],
    resolveBatch: [[`/v1/batches/${batch}/resolve`, { as: 'failed' }]],
    getLane: [[lane]],
    pauseLane: [[`${lane}/pause`, {}]],
    resumeLane: [[`${lane}/resume`]],
    setLaneWeight: [[`${lane}/weight`, { weight: 9 }]],
    skipHead: [[`${lane}/skip`]],
    fixHead: [[`${lane}/fix`, { as: 'applied' }]],
    reportLost: [[`${lane}/lost`, {}]],
    getQueuers: [['/v1/queuers']],
    setQueuers: [['/v1/queuers', { slots: 1 }]],
    pauseQueuers: [['/v1/queuers/pause', {}]],
    resumeQueuers: [['/v1/queuers/resume']],
    openFanout: [['/v1/fanouts', { id: fanout }]],
    getFanout: [[`/v1/fanouts/${fanout}?wait=60`], [`/v1/fanouts/${fanout}`]],
    watchFanout: [[`/v1/fanouts/${fanout}/events`]],
    addItems: [[`/v1/fanouts/${fanout}/items`, { items: 1 }]],
    sealFanout: [[`/v1/fanouts/${fanout}/seal`]],
    ackItems: [['/v1/items:ack', { items: ids }]],
    reopenItems: [['/v1/items:reopen', { items: ids }]],
    readItems: [['/v1/items:read', { items: ids }]],
    reapFanouts: [['/v1/fanouts:reap', {}]],
    getExecution: [[`/v1/executions/${execution}?wait=60`], [`/v1/executions/${execution}`]],
    getProgress: [[`/v1/executions/${execution}/progress`]],
    watchExecution: [[`/v1/executions/${execution}/events`]],
    getResults: [[`/v1/executions/${execution}/results`]],
    listWorkItems: [[`/v1/executions/${execution}/items`]],
    listChunks: [[`/v1/executions/${execution}/chunks`]],
    cancelExecution: [[`/v1/executions/${execution}/cancel`]],
    listNodes: [['/v1/nodes']],
    drainNode: [['/v1/nodes/n/drain', {}]],
    listPartitions: [['/v1/partitions']],
    movePartition: [['/v1/partitions/items/0/move', { node: null }]],
    verify: [['/v1/verify']],
    listAudit: [['/v1/audit']],
    startBulk: [cancelAll, patchAll].map((body) => ['/v1/bulk', body]),
    dryRunBulk: [cancelAll, patchAll].map((body) => ['/v1/bulk:dry-run', body]),
    listBulk: [['/v1/bulk'], ['/v1/bulk?handler=items']],
    getBulk: [[`/v1/bulk/${bulk}`]],
    stopBulk: [[`/v1/bulk/${bulk}/stop`]],
    listCallbacks: [['/v1/callbacks'], ['/v1/callbacks?handler=items']],
    sendCallback: [['/v1/callbacks/1/send']],
    sendCallbacks: [{}, { handler: 'items' }, { ids: [1] }, { ids: [1], handler: 'narrow' }].map(
      (body): [string, object] => ['/v1/callbacks:send', body],
    ),
    listOutcomes: [['/v1/outcomes'], ['/v1/outcomes?handler=items']],
    listErrors: [['/v1/errors'], ['/v1/errors?handler=items'], ['/v1/errors?handler=lane&limit=1']],
    metrics: [['/metrics']],
  };
};
/** They show a caller its part, or nothing of any caller; pages: test/dashboard/served.test.ts. */
const OWN_PART = [
  ...['lookUpTasks', 'listLanes', 'execute', 'listExecutions', 'live', 'ready', 'openapi'],
  ...['getSession', 'beginSession', 'endSession', 'getOverview', 'getHour', 'listFanouts'],
];

/** Everything that the other has; ages left out. */
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
  texts.push((await world.call(`GET /v1/bulk/${bulk}`, { token: tokens.all })).text);
  return texts.join('\n').replace(/"(\w*(Ms|At))":[^,}]+/g, '');
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
    for (const route of routes) for (const [path, body] of table[route.id]!) await attempt(caller, route, path, body);
  expect(await seen(theirs)).toBe(before);
  const there = await world.call('GET /v1/tasks/acme%2Fnew', { token: tokens.acme });
  expect(there.status).toBe(404);
  tally.expectNoneThrough(130);
});

const attempt = async (
  caller: 'acme' | 'narrow',
  { method, id }: Route,
  path: string,
  body: unknown,
): Promise<void> => {
  const sent = body ?? (method === 'GET' ? undefined : {});
  // What is another's is not waited for either.
  const signal = AbortSignal.timeout(20_000);
  const answer = await world.call(`${method} ${path}`, { token: tokens[caller], body: sent, signal });
  tally.add(
    `${caller} ${id} ${path} ${JSON.stringify(body)}`,
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
