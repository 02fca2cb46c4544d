import { follow } from './events';
import { eventually } from '../helpers/eventually';
import type { ApiWorld } from './world';
import { items, openWorld } from './world';

/** Batches and lanes over HTTP. */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const batchesOf = (batches: object[]) => world.call('POST /v1/handlers/lane/batches', { body: { batches } });

test('HTTP API: batches of lanes: submitted in order, looked at, cancelled; a circle is refused', async () => {
  const { body } = await batchesOf([
    { service: 'po', items: items('po', 'a1', 'a2'), key: 'first' },
    { service: 'po', items: items('po', 'b1'), dependsOn: ['first'] },
  ]);
  const [first, second] = body.batches.map(({ batch }: { batch: number }) => batch) as [number, number];
  expect((await world.call(`GET /v1/batches/${second}/lane`)).body).toMatchObject({
    service: 'po',
    place: 2,
    status: 'unsubmitted',
    dependsOn: [first],
    explanation: expect.any(String),
  });
  expect((await world.call('GET /v1/lanes/po')).body).toMatchObject({
    service: 'po',
    depth: 2,
    batches: [{ batch: first }, { batch: second }],
  });
  expect((await world.call(`GET /v1/batches/${first}?members=1`)).body).toMatchObject({
    n: 2,
    members: [{ id: 'a1' }],
  });
  expect((await world.call(`POST /v1/batches/${second}/cancel`)).body).toEqual({
    batch: second,
    service: 'po',
    tasks: ['b1'],
  });
  expect(await batchesOf([{ service: 'po', items: items('po', 'c1'), key: 'x', dependsOn: ['x'] }])).toMatchObject({
    status: 422,
    body: { code: 'INVALID_DEPENDENCY' },
  });
  expect(await batchesOf([{ service: 'po', items: items('po', 'a1') }])).toMatchObject({
    status: 409,
    body: { code: 'ID_CONFLICT' },
  });
});

test('HTTP API: lanes: a page, pause, resume, weight; the queuer', async () => {
  await batchesOf(['l1', 'l2', 'l3'].map((service) => ({ service, items: items(service, `of ${service}`) })));
  const page = await world.call('GET /v1/lanes?limit=2&after=l1');
  expect(page.body).toMatchObject({ lanes: [{ service: 'l2' }, { service: 'l3' }], next: 'l3' });
  expect((await world.call('POST /v1/lanes/l1/pause', { body: { reason: 'why' } })).status).toBe(200);
  expect((await world.call('GET /v1/lanes/l1')).body).toMatchObject({ state: 'paused', reason: 'why' });
  expect((await world.call('POST /v1/lanes/l1/resume')).status).toBe(200);
  expect((await world.call('POST /v1/lanes/l1/lost')).body).toMatchObject({ batches: 0, first: null, last: null });
  expect(await world.call('POST /v1/lanes/l1/lost', { body: { afterBatch: 999_999 } })).toMatchObject({
    status: 422,
    body: {
      code: 'INVALID_ARGUMENT',
      detail: expect.stringMatching(/afterBatch: expected a batch of lane l1, got 999999/),
    },
  });
  expect((await world.call('PUT /v1/lanes/l1/weight', { body: { weight: 7 } })).status).toBe(200);
  expect((await world.call('GET /v1/lanes/l1')).body).toMatchObject({ weight: 7 });
  expect(await world.call('POST /v1/lanes/l1/skip')).toMatchObject({ status: 409, body: { code: 'NOT_HALTED' } });
  expect(await world.call('POST /v1/lanes/l1/fix', { body: { as: 'again' } })).toMatchObject({ status: 409 });
  expect(
    (await world.call('PATCH /v1/queuers', { body: { slots: 3, strategy: 'one-round' } })).body.queuers,
  ).toMatchObject([{ slots: 3, strategy: 'one-round' }]);
  expect((await world.call('POST /v1/queuers/pause', { body: {} })).body).toEqual({ paused: true });
  expect((await world.call('GET /v1/queuers')).body.queuers).toMatchObject([{ paused: true }]);
  expect((await world.call('POST /v1/queuers/resume')).body).toEqual({ paused: false });
});

test('HTTP API: a decision on a halted lane is refused where it was meant for another batch', async () => {
  const { body } = await batchesOf(['h1', 'h2'].map((id) => ({ service: 'halts', items: items('halts', id) })));
  const [first, second] = body.batches.map(({ batch }: { batch: number }) => batch) as [number, number];
  await world.database.pool.query(
    `
with failed as (
  update batch set state = 5 /* failed */, error = 'no', finished_at = clock() where id = $1), invalid as (
  update lane_batch set status = 11 /* invalid */ where batch_id = $1)
update lane_state set halted_by = $1, halted_at = clock(), halt_reason = 'invalid: no'
where lane_id = (select lane_id from lane_batch where batch_id = $1)`,
    [first],
  );
  const refused = { status: 409, body: { code: 'OTHER_BATCH_HALTS', batch: second, haltedBy: first } };
  for (const headers of [{ 'dry-run': 'true' }, {}] as Record<string, string>[]) {
    const decide = (verb: string, more: object) => world.call(`POST /v1/lanes/halts/${verb}`, { body: more, headers });
    for (const fix of [{ as: 'again' }, { items: items('halts', 'h3') }])
      expect(await decide('fix', { ...fix, batch: second })).toMatchObject(refused);
    expect(await decide('skip', { batch: second })).toMatchObject(refused);
    expect(await decide('skip', { batch: 'first' })).toMatchObject({ status: 400 });
  }
  expect((await world.call('GET /v1/lanes/halts')).body).toMatchObject({ haltedBy: first });
  expect((await world.call('POST /v1/lanes/halts/skip', { body: { batch: first } })).body).toEqual({ batch: first });
});

test('HTTP API: lanes by the age of their oldest work, in batches and before', async () => {
  await batchesOf(['o1', 'o3'].map((service) => ({ service, items: items(service, `old ${service}`) })));
  expect((await world.call('POST /v1/handlers/lane/tasks', { body: { tasks: items('o2', 'old o2') } })).status).toBe(
    200,
  );
  await world.database.pool.query(`
update batch set created_at = clock() - interval '1 day'
where id = (select o.batch_id from lane_batch o join lane l on l.id = o.lane_id where l.service = 'o1')`);
  await world.database.pool.query(`
update lane_queue set ready_at = clock() - interval '1 day'
where lane_id = (select id from lane where service = 'o2')`);
  const services = async (query: string): Promise<string[]> =>
    (await world.call(`GET /v1/lanes?after=o&${query}`)).body.lanes.map((lane: { service: string }) => lane.service);
  expect(await services('olderThanMs=86400000')).toEqual(['o1', 'o2']);
  expect(await services('olderThanMs=86460000')).toEqual([]);
  expect(await services('olderThanMs=0')).toEqual(expect.arrayContaining(['o1', 'o2', 'o3']));
  expect(await world.call('GET /v1/lanes?olderThanMs=-1')).toMatchObject({ status: 400 });
});

test('HTTP API: a handler as server-sent events: whenever something happened', async () => {
  await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('x', 'e1') } });
  const stream = await follow(`${world.api.url}/v1/handlers/items/events`);
  await eventually(() => stream.events.length === 1);
  await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('x', 'e2') } });
  await eventually(() => stream.events.length === 2);
  expect(stream.events.map(({ data }) => (data['counts'] as { created: number }).created)).toEqual([1, 2]);
  stream.leave();
  await stream.over;
});

test('a completion of a batch that nobody knows: 404; one that cannot be: 422 [H7]', async () => {
  const at = 'POST /v1/handlers/items/complete';
  expect((await world.call(at, { body: { reference: 'job', results: [] } })).status).toBe(404);
  expect(await world.call(at, { body: { results: [] } })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'reference' }] },
  });
});
