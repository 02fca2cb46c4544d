import { lane, lanes } from '../../client/lanes/views';
import { defineHandler } from '../../handlers';
import type { Pool } from '../../postgres/pool';
import type { LaneBatchView } from '../../workflows/contracts/lane';
import { eventually } from '../helpers/eventually';
import { follow } from './events';
import type { ApiWorld, Place } from './world';
import { items, openWorld, worldHandlers } from './world';

/** Batches and lanes over HTTP. */

/** For batches of many items, which go in parallel where their state keys let them. */
const large = defineHandler<Place>({
  name: 'large',
  target: ({ to }) => to,
  service: (target) => target,
  lane: { approach: 'parallel' },
  limits: { maxItems: 10_000 },
  linger: { lingerMs: 60_000 },
  leaders: 1,
  submit: async () => ({ results: [] }),
});

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ handlers: [...worldHandlers(), large] });
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

describe('where batches have many long state keys', () => {
  const BATCHES = 40;
  /** Of 283 KB of keys each, so many have 8 MB. */
  const FIT = 30;
  let batches: number[];
  beforeAll(async () => {
    const fill = async (handler: string, service: string, n: number): Promise<number[]> => {
      const ids = Array.from({ length: n }, (_, i) => `${service} ${i}`);
      const all = await world.client.submitBatches(
        handler,
        ids.map((id) => ({ service, items: items(service, id) })),
      );
      return all.map(({ batch }) => batch);
    };
    batches = await fill('large', 'wide 1', BATCHES);
    await fill('large', 'wide 2', BATCHES);
    await fill('lane', 'wide and serial', 3);
    await world.database.pool.query(`
update lane_batch set reads = array(select lpad(i::text, 250, 'k') from generate_series(1, 1000) i)
where lane_id in (select id from lane where service like 'wide%')`);
  });

  /** A pool that notes how much it brought. */
  const weighing = (): { pool: Pool; weights: Record<string, number> } => {
    const weights: Record<string, number> = {};
    const query = async (statement: { name: string; text: string }) => {
      const answer = await world.database.pool.query(statement);
      weights[statement.name] = (weights[statement.name] ?? 0) + JSON.stringify(answer.rows).length;
      return answer;
    };
    return { pool: { query } as unknown as Pool, weights };
  };
  const sum = (weights: Record<string, number>): number => Object.values(weights).reduce((a, b) => a + b, 0);

  test('HTTP API: a lane shows keys up to 8 MB, and says of which batches it shows none', async () => {
    const { status, text, body } = await world.call('GET /v1/lanes/wide%201?batches=1000');
    expect(status).toBe(200);
    expect(text.length).toBeLessThan(8_388_608);
    const shown = body.batches as LaneBatchView[];
    expect(shown.map(({ batch }) => batch)).toEqual(batches);
    expect(shown.map(({ keysOmitted }) => keysOmitted === true)).toEqual(batches.map((_, i) => i >= FIT));
    expect(shown.map(({ reads }) => reads.length)).toEqual(batches.map((_, i) => (i < FIT ? 1_000 : 0)));
  });

  test('HTTP API: one of those batches has its keys; it is compared with as many as are read', async () => {
    const { body } = await world.call(`GET /v1/batches/${batches.at(-1)}/lane`);
    expect(body).toMatchObject({ place: BATCHES, writes: [] });
    expect(body.reads).toHaveLength(1_000);
    expect(body).not.toHaveProperty('keysOmitted');
    expect(body.explanation).toBe(`40th in lane wide 1, waits behind batch ${batches[0]} and those after it.`);
    const second = await world.client.batchStatus(batches[1]!);
    expect(second!.explanation).toMatch(/is ready/);
  });

  test('the keys of a lane are read once, up to 8 MB', async () => {
    const { pool, weights } = weighing();
    await lane(pool, 'wide 1', { batches: 1_000 });
    expect(sum(weights)).toBeLessThan(9_000_000);
  });

  test('a list of lanes reads keys only where lanes are parallel, up to 8 MB at once', async () => {
    const serial = weighing();
    expect(await lanes(serial.pool, { prefix: 'wide and' })).toMatchObject([{ state: 'free', depth: 3 }]);
    expect(sum(serial.weights)).toBeLessThan(10_000);
    const all = weighing();
    const states = (await lanes(all.pool, { prefix: 'wide' })).map(({ state }) => state);
    expect(states).toEqual(['free', 'free', 'free']);
    expect(sum(all.weights)).toBeLessThan(9_000_000);
  });
});

test('HTTP API: receipts show messages up to 8 MB, and say where they show none', async () => {
  const ids = Array.from({ length: 5_000 }, (_, i) => `told ${i}`);
  const { batch } = await world.client.submitBatch('large', 'told', items('told', ...ids));
  await world.database.pool.query(`update batch set error = repeat('e', 2000) where id = $1`, [batch]);
  const { text, body } = await world.call(`GET /v1/batches/${batch}/receipts`);
  expect(text.length).toBeLessThan(9_000_000);
  const receipts = body.receipts as { message: string | null; messageOmitted?: true }[];
  expect(receipts.map(({ message }) => message?.length ?? 0)).toEqual(ids.map((_, i) => (i < 4_000 ? 2_000 : 0)));
  expect(receipts.map(({ messageOmitted }) => messageOmitted === true)).toEqual(ids.map((_, i) => i >= 4_000));
});
