import { defineHandler } from '../../handlers';
import { CALL_OUTCOMES, ENDS } from '../../workflows/planning/outcomes/kinds';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { ApiWorld, Place } from './world';
import { items, openWorld } from './world';

/** Tasks over HTTP, end to end: with a worker on the run's real servers. */

let muster: TestMuster;
let world: ApiWorld;
beforeAll(async () => {
  const quick = defineHandler<Place>({
    name: 'items',
    target: (item) => item.to,
    limits: { maxItems: 50 },
    linger: { lingerMs: 50 },
    leaders: 1,
    submit: async (batch) => ({
      results: batch.tasks.map(({ id, payload }) =>
        payload.note === 'bad' ? { id, status: 'failed', error: 'bad' } : { id, status: 'ok', result: { of: id } },
      ),
    }),
  });
  const slow = defineHandler<Place>({
    name: 'slow',
    target: (item) => item.to,
    limits: { maxItems: 50 },
    linger: { lingerMs: 3_600_000 },
    submit: async () => ({ results: [] }),
  });
  muster = await startMuster([quick, slow]);
  world = await openWorld({ handlers: [quick, slow], muster });
});
afterAll(async () => {
  await world.stop();
  await muster.stop();
});

test('its counters of calls and ends begin at 0: the first one of each is an increase', async () => {
  const lines = new Set((await world.call('GET /metrics')).text.split('\n'));
  for (const handler of ['items', 'slow']) {
    for (const state of ENDS)
      expect(lines).toContain(`muster_task_ends_total{handler="${handler}",state="${state}"} 0`);
    for (const outcome of CALL_OUTCOMES)
      expect(lines).toContain(`muster_calls_total{handler="${handler}",outcome="${outcome}"} 0`);
  }
});

test('HTTP API: submit, long poll until it has ended, look, explain; repeating is harmless', async () => {
  const sent = await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('se', 'a', 'b') } });
  expect(sent).toMatchObject({ status: 200, body: { accepted: 2, repeated: 0, refused: [] } });
  const ended = await world.call('GET /v1/tasks/a?wait=30');
  expect(ended).toMatchObject({
    status: 200,
    body: { id: 'a', state: 'succeeded', result: { of: 'a' }, handler: 'items', target: 'se', payload: { to: 'se' } },
  });
  const again = await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('se', 'a', 'b') } });
  expect(again.body).toEqual({ accepted: 0, repeated: 2, refused: [] });
  expect((await world.call('POST /v1/tasks:lookup', { body: { ids: ['b', 'nobody', 'a'] } })).body.tasks).toMatchObject(
    [{ id: 'b' }, { id: 'a' }],
  );
  expect((await world.call('GET /v1/tasks/a/explain')).body).toMatchObject({
    state: 'succeeded',
    waitsFor: null,
    facts: {},
  });
  const batch = ended.body.batch as number;
  expect((await world.call(`GET /v1/batches/${batch}`)).body).toMatchObject({
    id: batch,
    state: 'succeeded',
    handler: 'items',
  });
  expect((await world.call(`GET /v1/batches/${batch}/receipts`)).body.receipts[0]).toMatchObject({
    id: 'a',
    receipt: 'valid',
    data: { of: 'a' },
  });
});

test('HTTP API: tasks that depend on others: held, shown, refused by name', async () => {
  const post = (name: string, tasks: object[]) => world.call(`POST /v1/handlers/${name}/tasks`, { body: { tasks } });
  const [first, second] = items('fi', 'first', 'second');
  const run = { onDependencyFailure: 'run' };
  expect(await post('slow', [{ ...second, dependsOn: ['first'], ...run }, first!])).toMatchObject({
    status: 200,
    body: { accepted: 2 },
  });
  expect((await world.call('GET /v1/tasks/second')).body).toMatchObject({
    state: 'created',
    dependsOn: ['first'],
    waitsFor: ['first'],
    ...run,
  });
  expect((await world.call('GET /v1/tasks/second/explain')).body).toMatchObject({ waitsFor: 'dependency' });
  const refused = await post('slow', [{ ...items('fi', 'third')[0], dependsOn: ['nobody'] }]);
  expect(refused.status).toBe(422);
  expect(JSON.stringify(refused.body)).toMatch(/INVALID_DEPENDENCY.*nobody/s);
});

test('HTTP API: tags and metadata are shown, found, and refused by name; waiting tasks come by time', async () => {
  const post = (tasks: object[]) => world.call('POST /v1/handlers/slow/tasks', { body: { tasks } });
  const [one, two] = items('dk', 'one', 'two');
  const expiresAt = '2099-01-01T00:00:00.000Z';
  const labels = { tags: ['red', 'ä&b'], metadata: { by: 'me' } };
  expect(
    await post([
      { ...one, ...labels, expiresAt },
      { ...two, tags: ['red'] },
    ]),
  ).toMatchObject({ status: 200 });
  expect((await world.call('GET /v1/tasks/one')).body).toMatchObject({ ...labels, expiresAt });
  const list = async (query: string): Promise<unknown> =>
    ((await world.call(`GET ${query}`)).body.tasks as { id: string }[]).map(({ id }) => id);
  expect(await list('/v1/tasks?tag=red')).toEqual(['two', 'one']);
  expect(await list('/v1/handlers/slow/tasks?tag=%C3%A4%26b&state=created')).toEqual(['one']);
  expect(await list('/v1/handlers/items/tasks?tag=red')).toEqual([]);
  expect(await list('/v1/handlers/slow/tasks?state=created&target=dk&order=newest')).toEqual(['two', 'one']);
  expect(await list('/v1/handlers/slow/tasks?state=created&target=dk&order=oldest')).toEqual(['one', 'two']);
  const { body } = await world.call('GET /v1/tasks?tag=red&limit=1');
  expect(body.tasks).toMatchObject([{ id: 'two', tags: ['red'] }]);
  expect(await list(`/v1/tasks?tag=red&limit=1&after=${String(body.next)}`)).toEqual(['one']);
  const now = Date.now();
  const times = (since: number, until: number): string =>
    `since=${new Date(now + since).toISOString()}&until=${new Date(now + until).toISOString()}`;
  expect(await list(`/v1/handlers/slow/tasks?state=created&target=dk&${times(-60_000, 60_000)}`)).toEqual([
    'two',
    'one',
  ]);
  expect(await list(`/v1/handlers/slow/tasks?state=created&target=dk&${times(60_000, 90_000)}`)).toEqual([]);
  expect(await list(`/v1/tasks?tag=red&${times(-60_000, 60_000)}`)).toEqual(['two', 'one']);
  for (const [path, why] of [
    ['/v1/handlers/slow/tasks', /state: expected one of/],
    ['/v1/tasks?tag=red&state=created&order=newest', /order/],
    ['/v1/handlers/slow/tasks?tag=red&state=created&order=newest', /order: expected none with a tag/],
  ] as const) {
    const refused = await world.call(`GET ${path}`);
    expect([refused.status, refused.text]).toEqual([expect.any(Number), expect.stringMatching(why)]);
    expect([400, 422]).toContain(refused.status);
  }
  await world.call('POST /v1/tasks:cancel', { body: { ids: ['two'] } });
  const at = Date.parse(String((await world.call('GET /v1/tasks/two')).body.finishedAt));
  const between = (since: number, until: number): Promise<unknown> => {
    const times = [since, until].map((ms) => new Date(at + ms).toISOString());
    return list(`/v1/handlers/slow/tasks?state=cancelled&since=${times[0]}&until=${times[1]}`);
  };
  expect(await between(-1_000, 1_000)).toEqual(['two']);
  expect([await between(1_000, 2_000), await between(-2_000, -1_000)]).toEqual([[], []]);
  const long = await post([{ ...items('dk', 'three')[0], tags: ['ü'.repeat(51)] }]);
  expect([long.status, JSON.stringify(long.body)]).toEqual([422, expect.stringMatching(/INVALID_TAG/)]);
});

test('HTTP API: an id with slashes, blanks and umlauts; one that is longer than any framework expects', async () => {
  const odd = 'a/b c?ä#%2F:é';
  const long = 'x'.repeat(256);
  await world.call('POST /v1/handlers/slow/tasks', { body: { tasks: items('no', odd, long) } });
  for (const id of [odd, long])
    expect(await world.call(`GET /v1/tasks/${encodeURIComponent(id)}`)).toMatchObject({
      status: 200,
      body: { id, state: 'created' },
    });
});

test('HTTP API: a long poll whose time is up answers the task as it is; one that ends meanwhile is answered at once', async () => {
  await world.call('POST /v1/handlers/slow/tasks', { body: { tasks: items('dk', 'waits') } });
  expect((await world.call('GET /v1/tasks/waits?wait=1')).body).toMatchObject({ state: 'created' });
  const begun = performance.now();
  const polling = world.call('GET /v1/tasks/waits?wait=60');
  expect((await world.call('POST /v1/tasks:cancel', { body: { ids: ['waits', 'nobody'] } })).body).toEqual({
    cancelled: ['waits'],
    notCancelled: [{ id: 'nobody', state: 'unknown id' }],
  });
  expect((await polling).body).toMatchObject({ state: 'cancelled' });
  expect(performance.now() - begun).toBeLessThan(30_000);
});

test('HTTP API: failed tasks are redriven; a handler is paused, told and resumed; status counts', async () => {
  await world.call('POST /v1/handlers/items/tasks', {
    body: { tasks: [{ id: 'bad', payload: { to: 'fi', note: 'bad' } }] },
  });
  expect((await world.call('GET /v1/tasks/bad?wait=30')).body).toMatchObject({ state: 'failed', error: 'bad' });
  const list = (query: string) => world.call(`GET /v1/handlers/items/tasks?${query}`);
  expect((await list('state=failed&target=fi&error=ba&limit=1')).body).toEqual({
    tasks: [expect.objectContaining({ id: 'bad', target: 'fi', state: 'failed', error: 'bad' })],
    next: expect.anything(),
  });
  expect((await list('state=failed&target=fi&error=good')).body).toEqual({ tasks: [], next: null });
  expect((await list('state=lost')).status).toBe(400);
  expect((await list('limit=5')).status).toBe(422); // a state, or a tag
  expect((await world.call('POST /v1/handlers/items/pause', { body: { reason: 'lunch' } })).body).toEqual({
    paused: true,
  });
  expect((await world.call('POST /v1/handlers/items/redrive', { body: { only: 'failed' } })).body).toEqual({
    redriven: 1,
  });
  expect((await world.call('GET /v1/handlers/items')).body).toMatchObject({
    paused: { reason: 'lunch' },
    counts: { created: 1 },
    served: true,
    identityHolds: true,
  });
  expect((await world.call('POST /v1/handlers/items/resume')).body).toEqual({ resumed: true });
  expect((await world.call('GET /v1/tasks/bad?wait=30')).body).toMatchObject({ state: 'failed' });
  expect(
    (await world.call('GET /v1/status')).body.handlers.map(({ handler }: { handler: string }) => handler).sort(),
  ).toEqual(['items', 'slow']);
});

test('HTTP API: targets: a page, overrides, flush and pause of one', async () => {
  await world.call('POST /v1/handlers/slow/tasks', {
    body: { tasks: ['t1', 't2', 't/3'].flatMap((to) => items(to, `of ${to}`)) },
  });
  const first = await world.call('GET /v1/handlers/slow/targets?limit=2');
  expect(first.body.targets).toHaveLength(2);
  const at = '/v1/handlers/slow/targets/t%2F3';
  expect((await world.call(`PUT ${at}`, { body: { lingerMs: 1_000 } })).body).toEqual({ target: 't/3' });
  expect((await world.call(`DELETE ${at}`)).status).toBe(200);
  expect((await world.call(`POST ${at}/pause`, { body: { reason: 'r' } })).status).toBe(200);
  const rest = await world.call(`GET /v1/handlers/slow/targets?after=${encodeURIComponent('t')}`);
  expect(rest.body.targets.find(({ key }: { key: string }) => key === 't/3')).toMatchObject({
    paused: { reason: 'r' },
    queued: 1,
  });
  expect((await world.call(`POST ${at}/resume`)).status).toBe(200);
  expect((await world.call('POST /v1/handlers/slow/targets/t1/flush')).body).toEqual({ targets: 1, tasks: 1 });
});

test('HTTP API: nodes, verify, metrics, the document and its page', async () => {
  expect((await world.call('GET /v1/nodes')).body.nodes).toEqual([
    expect.objectContaining({ alive: true, handlers: ['items', 'slow'] }),
  ]);
  expect((await world.call('GET /v1/verify')).body).toMatchObject({ ok: true });
  const metrics = await world.call('GET /metrics');
  expect(metrics.type).toContain('text/plain');
  expect(metrics.text).toMatch(/muster_api_requests_total\{operation="getTask",status="200"\} \d/);
  expect(metrics.text).toContain('muster_queued_tasks');
  expect(metrics.text).toMatch(/muster_connections\{pool="keys",state="idle"\} \d/);
  expect((await world.call('GET /openapi.json')).body).toMatchObject({ openapi: '3.1.0', info: { title: 'Muster' } });
  expect((await world.call('GET /docs')).text).toContain('swagger-ui');
});
