import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken, SCOPES } from '../../../postgres/api/token';
import { isChange } from '../../../workers/api/dryRuns/dryRun';
import { PREVIEWS } from '../../../workers/api/dryRuns/previews';
import { registerShare } from '../../../postgres/limits/shared';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { snapshot } from '../../attacks/snapshot';
import { expectWhole } from '../../helpers/whole';
import type { ApiWorld } from '../world';
import { items, openWorld } from '../world';

/** Every change of the API with `Dry-Run: true`: checked as the real one, shown, and not done. */

let world: ApiWorld;
/** Made before the first request: the API reads them every two seconds. */
const tokens = { admin: '', reader: '', acme: newToken() };
/** By operation: a request that could be done. */
let requests: Record<string, readonly [route: string, body?: unknown]>;

const NOWHERE = '00000000-0000-4000-8000-000000000000';

beforeAll(async () => {
  world = await openWorld({ maxLimits: { items: { 'concurrency.perHandler': 8 } } });
  tokens.admin = await world.token('admin', 'submit', 'read', 'operate', 'complete');
  tokens.reader = await world.token('read');
  await upsertTenant(world.database.pool, 'acme', NO_QUOTAS);
  const limited = { name: 'acme', hash: hashToken(tokens.acme), scopes: SCOPES, tenant: 'acme' };
  await insertToken(world.database.pool, limited);
  const call = async (route: string, body: unknown) => {
    const answer = await world.call(route, { body, token: tokens.admin });
    expect([route, answer.status < 300 ? '' : answer.text]).toEqual([route, '']);
    return answer.body;
  };
  await call('POST /v1/handlers/items/tasks', { tasks: items('a', '1', '2') });
  await registerShare(world.database.pool, 'items', { name: 'key', rates: [], concurrency: 4 });
  const { batches } = await call('POST /v1/handlers/lane/batches', {
    batches: [{ service: 's', items: items('s', 'l') }],
  });
  const { id: fanout } = await call('POST /v1/fanouts', {});
  await call(`POST /v1/fanouts/${fanout}/items`, { items: 3 });
  const template = { function_id: 'f', method: 'm' };
  const { request_id: execution } = await call('POST /v1/executions', { template, arguments: [['1']] });
  const batch = `/v1/batches/${batches[0].batch}`;
  const target = '/v1/handlers/items/targets/a';
  requests = {
    submitTasks: ['POST /v1/handlers/items/tasks', { tasks: items('b', '3', '4') }],
    cancelTasks: ['POST /v1/tasks:cancel', { ids: ['1', 'none'] }],
    resolveTasks: ['POST /v1/tasks:resolve', { ids: ['1'], as: 'failed' }],
    flushHandler: ['POST /v1/handlers/items/flush', {}],
    pauseHandler: ['POST /v1/handlers/items/pause', { target: 'a' }],
    resumeHandler: ['POST /v1/handlers/items/resume'],
    redriveTasks: ['POST /v1/handlers/items/redrive', { only: 'failed' }],
    completeBatch: ['POST /v1/handlers/lane/complete', { batchId: batches[0].batch, status: 'expired' }],
    setTarget: [`PUT ${target}`, { lingerMs: 1 }],
    unsetTarget: [`DELETE ${target}`],
    flushTarget: [`POST ${target}/flush`],
    pauseTarget: [`POST ${target}/pause`, {}],
    resumeTarget: [`POST ${target}/resume`],
    submitBatches: ['POST /v1/handlers/lane/batches', { batches: [{ service: 's', items: items('s', 'm') }] }],
    cancelBatch: [`POST ${batch}/cancel`],
    resolveBatch: [`POST ${batch}/resolve`, { as: 'failed' }],
    sendCallback: ['POST /v1/callbacks/1/send'],
    sendCallbacks: ['POST /v1/callbacks:send', {}],
    execute: ['POST /v1/executions', { template, arguments: [['1'], ['2']] }],
    cancelExecution: [`POST /v1/executions/${execution}/cancel`],
    openFanout: ['POST /v1/fanouts', {}],
    addItems: [`POST /v1/fanouts/${fanout}/items`, { items: 3 }],
    sealFanout: [`POST /v1/fanouts/${fanout}/seal`],
    ackItems: ['POST /v1/items:ack', { items: [`${fanout}:0:0`] }],
    reopenItems: ['POST /v1/items:reopen', { items: [`${fanout}:0:0`] }],
    reapFanouts: ['POST /v1/fanouts:reap', {}],
    pauseLane: ['POST /v1/lanes/s/pause', {}],
    resumeLane: ['POST /v1/lanes/s/resume'],
    setLaneWeight: ['PUT /v1/lanes/s/weight', { weight: 9 }],
    skipHead: ['POST /v1/lanes/s/skip'],
    fixHead: ['POST /v1/lanes/s/fix', { as: 'applied' }],
    reportLost: ['POST /v1/lanes/s/lost', {}],
    setQueuers: ['PATCH /v1/queuers', { slots: 1 }],
    pauseQueuers: ['POST /v1/queuers/pause', {}],
    resumeQueuers: ['POST /v1/queuers/resume'],
    drainNode: ['POST /v1/nodes/n/drain', {}],
    movePartition: ['POST /v1/partitions/items/0/move', { node: null }],
    startBulk: ['POST /v1/bulk', { handler: 'items', action: { do: 'cancel' } }],
    stopBulk: [`POST /v1/bulk/${NOWHERE}/stop`],
    setLimits: ['PATCH /v1/limits/items', { concurrency: { perHandler: 2 } }],
    removeLimits: ['DELETE /v1/limits/items'],
    setTargetLimits: ['PATCH /v1/limits/items/targets/a', { concurrency: { perTarget: 2 } }],
    removeTargetLimits: ['DELETE /v1/limits/items/targets/a'],
    setSharedLimit: ['PATCH /v1/shared-limits/key', { concurrency: 2 }],
    removeSharedLimit: ['DELETE /v1/shared-limits/key'],
    beginSession: ['POST /dashboard/session', {}],
    endSession: ['DELETE /dashboard/session'],
  };
});
afterAll(async () => {
  await expectWhole(world.client);
  await world.stop();
});

const dry = (route: string, body?: unknown, more: { token?: string; key?: string } = {}) =>
  world.call(route, { body: body ?? {}, token: tokens.admin, headers: { 'dry-run': 'true' }, ...more });

/** There is no node without a worker, no partition of these handlers, and no callback. */
const MISSING: Record<string, number> = {
  ...{ drainNode: 404, movePartition: 422, sendCallback: 404, stopBulk: 404 },
  ...{ skipHead: 409, fixHead: 409 }, // the lane is not halted
};

test('every change has a dry run, which does nothing, under a key neither', async () => {
  const changes = world.api.routes.filter(isChange).map(({ id }) => id);
  expect(Object.keys(PREVIEWS).sort()).toEqual([...changes].sort());
  expect(Object.keys(requests).sort()).toEqual([...changes].sort());
  const before = await snapshot(world.database);
  for (const [id, [route, body]] of Object.entries(requests))
    for (const key of [undefined, `key-${id}`]) {
      const answer = await dry(route, body, key === undefined ? {} : { key });
      const expected = id in MISSING ? [MISSING[id], undefined] : [200, true];
      expect([id, answer.status, answer.body.dryRun, answer.headers.get('set-cookie')]).toEqual([
        id,
        ...expected,
        null,
      ]);
    }
  expect(await snapshot(world.database)).toBe(before);
});

test('it shows what the change would act on', async () => {
  const now = async (id: string) => (await dry(...requests[id]!)).body.now;
  expect(await now('submitTasks')).toMatchObject({ valid: 2, refused: [], targets: [{ target: 'b', tasks: 2 }] });
  expect(await now('cancelTasks')).toEqual({
    states: { created: 1, 'no such task': 1 },
    tasks: [
      { id: '1', state: 'created' },
      { id: 'none', state: null },
    ],
  });
  expect(await now('pauseHandler')).toMatchObject({ key: 'a', forming: { items: 2 } });
  expect(await now('flushTarget')).toMatchObject({ key: 'a', forming: { items: 2 } });
  expect(await now('flushHandler')).toMatchObject({ handler: 'items', counts: { created: 2 } });
  expect(await now('cancelBatch')).toMatchObject({ state: 'open' });
  expect(await now('submitBatches')).toEqual({ batches: [{ service: 's', target: 's', items: 1 }] });
  expect(await now('pauseLane')).toMatchObject({ service: 's' });
  expect(await now('setQueuers')).toEqual([expect.objectContaining({ paused: false })]);
  expect(await now('execute')).toEqual({ function: 'f', method: 'm', items: 2 });
  expect(await now('cancelExecution')).toMatchObject({ state: 'created' });
  expect(await now('sealFanout')).toMatchObject({ items: 3 });
  expect(await now('ackItems')).toEqual({ acked: [false] });
});

test('what the change refuses, its dry run refuses in the same words', async () => {
  const wrong: readonly (readonly [string, unknown])[] = [
    ['POST /v1/handlers/items/tasks', { tasks: [{ id: '', payload: { to: 'x' } }] }],
    ['POST /v1/handlers/items/tasks', { tasks: [] }],
    ['POST /v1/handlers/none/tasks', { tasks: items('b', '5') }],
    ['POST /v1/handlers/items/batches', { batches: [{ service: 's', items: items('s', 'm') }] }],
    ['POST /v1/handlers/none/flush', {}],
    ['PATCH /v1/limits/items', { concurrency: { perHandler: 9 } }],
    ['PATCH /v1/shared-limits/key', { concurrency: 5 }],
    ['POST /v1/handlers/items/targets/none/pause', {}],
    ['POST /v1/lanes/none/pause', {}],
    ['POST /v1/callbacks/1/send', {}],
    ['POST /v1/callbacks:send', { ids: [1] }],
    ['POST /v1/callbacks:send', { ids: [1], handler: 'items' }],
    ['POST /v1/executions', { template: { function_id: 'f', method: 'm' }, arguments: [['\u0000']] }],
    [`POST /v1/fanouts/${NOWHERE}/seal`, {}],
    ['POST /v1/tasks:cancel', { ids: ['x'], more: 1 }],
  ];
  for (const [route, body] of wrong) {
    const [real, tried] = [await world.call(route, { body, token: tokens.admin }), await dry(route, body)];
    const words = ({ status, text }: typeof real) => [status, text.replace(/It [^"]*deleted[^"]*\./, '')];
    expect(words(tried)).toEqual(words(real));
    expect(tried.status).toBeGreaterThanOrEqual(400);
  }
});

test('it needs what the change needs, and shows a tenant nothing of another', async () => {
  for (const [id, [route, body]] of Object.entries(requests))
    if (!id.endsWith('Session'))
      expect([id, (await dry(route, body, { token: tokens.reader })).status]).toEqual([id, 403]);
  const own = ['openFanout', 'execute', 'beginSession', 'endSession'];
  for (const [id, [route, body]] of Object.entries(requests))
    if (!own.includes(id))
      expect([id, (await dry(route, body, { token: tokens.acme })).status >= 400]).toEqual([id, true]);
});

test('only true and false are understood, and a read takes no notice', async () => {
  const [route, body] = requests['flushTarget']!;
  const send = (to: string, value: string) =>
    world.call(to, {
      ...(to.startsWith('GET') ? {} : { body: body ?? {} }),
      token: tokens.admin,
      headers: { 'dry-run': value },
    });
  const wrong = await send(route, 'yes');
  expect([wrong.status, wrong.body.errors]).toEqual([400, [{ field: 'Dry-Run', message: 'expected true or false' }]]);
  expect((await send('GET /v1/status', 'true')).body).toHaveProperty('handlers');
  expect((await send(route, 'false')).body).toEqual({ targets: 1, tasks: 2 });
});

/** Changes that the audit leaves out, each with its reason. */
const NO_ENTRY: Record<string, string> = {
  submitTasks: 'work of submitters, which the store has',
  submitBatches: 'the same',
  addItems: 'the same',
  ackItems: 'the same',
  completeBatch: 'the report of a downstream, which the batch has',
  beginSession: 'a cookie of the caller’s own browser',
  endSession: 'the same',
};

test('every change by an operator, once it is made, is one entry of the audit: its token’s', async () => {
  const changes = world.api.routes.filter(isChange).map(({ id }) => id);
  expect(changes).toEqual(expect.arrayContaining(Object.keys(NO_ENTRY)));
  const subjects = new Set<string>();
  for (const id of changes) {
    const [route, body] = requests[id]!;
    const [{ id: before } = { id: 0 }] = await world.client.audit.list({ limit: 1 });
    const answer = await world.call(route, { body: body ?? {}, token: tokens.admin });
    expect([id, answer.status < 500]).toEqual([id, true]);
    const entries = (await world.client.audit.list({ limit: 3 })).filter((one) => one.id > before);
    expect([id, entries.length]).toEqual([id, id in NO_ENTRY ? 0 : 1]);
    for (const { who, door, origin, verb, subject } of entries) {
      expect([id, door, who]).toEqual([id, 'api', expect.stringMatching(/^token \d+ \(admin /)]);
      expect([id, origin]).toEqual([id, expect.stringMatching(/^(::ffff:)?127\.0\.0\.1$/)]);
      subjects.add(`${verb} ${subject}`);
    }
  }
  expect(subjects.size).toBeGreaterThan(25);
});
