import { itemIds } from '../../client';
import { eventually } from '../helpers/eventually';
import { follow } from './events';
import type { ApiWorld } from './world';
import { openWorld } from './world';

/** Fan-outs over HTTP (D15). */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const open = async (body: object = {}): Promise<string> => (await world.call('POST /v1/fanouts', { body })).body.id;
const add = async (fanout: string, items: number): Promise<string[]> => {
  const { body } = await world.call(`POST /v1/fanouts/${fanout}/items`, { body: { items } });
  return [...itemIds(fanout, body.ranges)];
};
const ack = async (ids: string[]) => (await world.call('POST /v1/items:ack', { body: { items: ids } })).body;

test('open, add, seal, ack, get: exactly one completion, told by the last ack [D15]', async () => {
  const fanout = await open({ userKey: 'import-17', segmentSize: 100 });
  const ids = await add(fanout, 250);
  expect(ids[249]).toBe(`${fanout}:2:49`);
  expect(await ack(ids.slice(0, 1))).toEqual({ items: 1, acked: 1, completed: [] });
  expect((await world.call(`POST /v1/fanouts/${fanout}/seal`)).body).toEqual({
    state: 'sealed',
    items: 250,
    completed: null,
  });
  expect((await world.call(`GET /v1/fanouts/${fanout}`)).body).toMatchObject({
    state: 'sealed',
    items: 250,
    open: 249,
    openSegments: 3,
    userKey: 'import-17',
  });
  expect((await world.call('POST /v1/items:read', { body: { items: ids.slice(0, 2) } })).body).toEqual({
    acked: [true, false],
  });
  expect(await ack(ids)).toEqual({
    items: 250,
    acked: 249,
    completed: [expect.objectContaining({ id: fanout, userKey: 'import-17', items: 250 })],
  });
  expect(await ack(ids)).toEqual({ items: 250, acked: 0, completed: [] });
  expect((await world.call(`POST /v1/fanouts/${fanout}/seal`)).body).toEqual({
    state: 'complete',
    items: 250,
    completed: null,
  });
});

test('an add after the seal: 409; an index past the end: 422 by its id, nothing applied [D15 D1]', async () => {
  const fanout = await open();
  await add(fanout, 2);
  expect(
    (await world.call('POST /v1/items:ack', { body: { items: [`${fanout}:0:0`, `${fanout}:0:2`, `${fanout}:1:0`] } }))
      .body,
  ).toMatchObject({
    code: 'INVALID_ITEM',
    errors: expect.arrayContaining([expect.objectContaining({ id: `${fanout}:0:2`, code: 'INDEX_PAST_END' })]),
  });
  expect((await world.call(`GET /v1/fanouts/${fanout}`)).body).toMatchObject({ open: 2 });
  await world.call(`POST /v1/fanouts/${fanout}/seal`);
  expect(await world.call(`POST /v1/fanouts/${fanout}/items`, { body: { items: 1 } })).toMatchObject({
    status: 409,
    body: { code: 'FANOUT_SEALED' },
  });
  expect((await world.call('POST /v1/items:reopen', { body: { items: [`${fanout}:0:0`] } })).body).toEqual({
    items: 1,
    reopened: 0,
  });
});

test('sealed while empty it is complete at once; a long poll waits for the end; reaping answers counts [D15]', async () => {
  expect((await world.call(`POST /v1/fanouts/${await open()}/seal`)).body).toMatchObject({
    state: 'complete',
    completed: { items: 0 },
  });
  const fanout = await open();
  const ids = await add(fanout, 1);
  const waiting = world.call(`GET /v1/fanouts/${fanout}?wait=60`);
  await ack(ids);
  await world.call(`POST /v1/fanouts/${fanout}/seal`);
  expect((await waiting).body).toMatchObject({ state: 'complete' });
  expect((await world.call('POST /v1/fanouts:reap', { body: { openIdleMs: 86_400_000 } })).body).toMatchObject({
    expiredOpen: 0,
  });
});

test('progress as server-sent events: what is there at once, what changes, the end, and then it is over [D15]', async () => {
  const fanout = await open();
  const ids = await add(fanout, 3);
  const stream = await follow(`${world.api.url}/v1/fanouts/${fanout}/events`);
  expect(stream.type).toBe('text/event-stream');
  await eventually(() => stream.events.length === 1);
  expect(stream.events[0]).toMatchObject({ name: 'progress', data: { state: 'open', open: 3 } });
  await ack(ids.slice(0, 2));
  await eventually(() => stream.events.length === 2);
  expect(stream.events[1]).toMatchObject({ name: 'progress', data: { open: 1 } });
  await ack(ids);
  await world.call(`POST /v1/fanouts/${fanout}/seal`);
  await stream.over;
  expect(stream.events.at(-1)).toMatchObject({ name: 'end', data: { state: 'complete', open: 0 } });
  expect((await world.call('GET /v1/fanouts/00000000-0000-4000-8000-000000000000/events')).status).toBe(404);
});

test('streams and long polls have a limit of their own: 429 with Retry-After; others are answered meanwhile', async () => {
  const own = await openWorld({ limits: { maxWaiting: 2, perCaller: { maxWaiting: 2 } } });
  const fanout = (await own.call('POST /v1/fanouts', { body: {} })).body.id as string;
  const streams = await Promise.all([1, 2].map(() => follow(`${own.api.url}/v1/fanouts/${fanout}/events`)));
  for (const path of [`/v1/fanouts/${fanout}/events`, `/v1/fanouts/${fanout}?wait=5`]) {
    const refused = await own.call(`GET ${path}`);
    expect(refused).toMatchObject({ status: 429, body: { type: 'urn:muster:problem:too-many-waiting' } });
    expect(refused.headers.get('retry-after')).toBe('1');
  }
  expect((await own.call(`GET /v1/fanouts/${fanout}`)).status).toBe(200);
  streams[0]!.leave();
  await eventually(async () => (await own.call(`GET /v1/fanouts/${fanout}?wait=1`)).status === 200);
  // A stop ends what waits, with a word; a new request finds nobody.
  await own.stop();
  await streams[1]!.over;
  expect(streams[1]!.events.at(-1)).toMatchObject({ name: 'stopping' });
});
