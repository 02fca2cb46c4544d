import { randomUUID } from 'node:crypto';
import { makeSteps } from '../client/bulk/made';
import type { Scope } from '../../postgres/api/token';
import type { ApiWorld } from './world';
import { items, openWorld, worldHandlers } from './world';

/** Bulk actions over HTTP. */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
  await world.client.submit('items', items('a', '1', '2', '3'));
});
afterAll(() => world.stop());

const body = { handler: 'items', where: { target: 'a' }, action: { do: 'cancel' }, limit: 2 };

test('counted, started once per Idempotency-Key, followed and listed', async () => {
  const counted = await world.call('POST /v1/bulk:dry-run', { body });
  expect([counted.status, counted.body]).toMatchObject([200, { count: 2, complete: true, sample: [{ id: '1' }, {}] }]);
  const [first, again] = [
    await world.call('POST /v1/bulk', { body, key: 'k-1' }),
    await world.call('POST /v1/bulk', { body, key: 'k-1' }),
  ];
  expect([first.status, again.status, again.body.id]).toEqual([202, 202, first.body.id]);
  // As if the process had died before the answer was kept.
  await world.database.pool.query('delete from idempotency_key');
  expect((await world.call('POST /v1/bulk', { body, key: 'k-1' })).body.id).toBe(first.body.id);
  await makeSteps(world.client);
  const shown = await world.call(`GET /v1/bulk/${first.body.id}`);
  expect(shown.body).toMatchObject({ state: 'done', total: 2, done: 2, limit: 2, door: 'api' });
  expect(shown.body.who).toBe('no token');
  expect(shown.body.origin).toBe('127.0.0.1');
  const { actions } = (await world.call('GET /v1/bulk?limit=5')).body;
  expect(actions.map(({ id }: { id: string }) => id)).toEqual([first.body.id]);
  expect((await world.call('GET /v1/bulk?open=true')).body).toEqual({ actions: [], next: null });
  const [entry] = await world.client.audit.list({ subject: 'target items/a' });
  expect(entry).toMatchObject({ verb: 'bulk cancel', door: 'api', outcome: 'done', detail: { limit: 2 } });
});

test('stopped, and what is not there or not right is refused', async () => {
  const started = (await world.call('POST /v1/bulk', { body })).body;
  const stopped = await world.call(`POST /v1/bulk/${started.id}/stop`);
  expect([stopped.status, stopped.body.state]).toEqual([200, 'stopped']);
  await makeSteps(world.client);
  expect((await world.call(`GET /v1/bulk/${started.id}`)).body).toMatchObject({ state: 'stopped', done: 0 });
  for (const verb of ['GET /v1/bulk/X', 'POST /v1/bulk/X/stop'])
    expect((await world.call(verb.replace('X', randomUUID()))).status).toBe(404);
  const status = async (more: object): Promise<number> =>
    (await world.call('POST /v1/bulk', { body: { ...body, ...more } })).status;
  expect(await status({ handler: 'none' })).toBe(404);
  expect(await status({ action: { do: 'drop' } })).toBe(400);
  expect(await status({ where: { state: 'dead' } })).toBe(422);
  expect(await status({ where: { states: 'dead' } })).toBe(400);
  expect(await status({ action: { do: 'update' } })).toBe(422);
  expect(await status({ action: { do: 'update', payloadPatch: [] } })).toBe(400);
  expect(await status({ action: { do: 'update', payloadPatch: {} } })).toBe(422);
  const odd = JSON.parse('{"a": 1, "__proto__": {"b": 2}}') as object;
  expect(await status({ action: { do: 'update', payloadPatch: odd } })).toBe(422);
});

test('payloads are patched, and a dry run names those that would keep theirs', async () => {
  await world.client.submit('items', items('p', '4', '5'));
  const patch = (payloadPatch: object, where: object) => ({
    handler: 'items',
    where,
    action: { do: 'update', payloadPatch },
  });
  const dry = await world.call('POST /v1/bulk:dry-run', { body: patch({ to: 'else' }, { target: 'p' }) });
  expect(dry.body.refused.map(({ id }: { id: string }) => id)).toEqual(['4', '5']);
  const { body: started } = await world.call('POST /v1/bulk', { body: patch({ note: 'n' }, { id: '5' }) });
  await makeSteps(world.client, ...worldHandlers());
  const shown = await world.call(`GET /v1/bulk/${started.id}`);
  expect(shown.body).toMatchObject({ done: 1, action: { do: 'update', payloadPatch: '{"note":"n"}' } });
  expect((await world.client.getTask('5'))!.payload).toMatchObject({ note: 'n' });
});

test('who may read may count; who may operate may start and stop; payloads need submit, too', async () => {
  const token = (...scopes: Scope[]): Promise<string> => world.token(...scopes);
  const [read, operate, submit] = [await token('read'), await token('operate'), await token('submit')];
  const most = await token('read', 'operate', 'complete', 'metrics');
  const [reader, all] = [await token('read', 'submit'), await token('read', 'operate', 'submit')];
  const admin = await token('admin');
  const asked = async (by: string): Promise<number[]> => {
    const as = { body, token: by };
    const dry = await world.call('POST /v1/bulk:dry-run', as);
    const start = await world.call('POST /v1/bulk', as);
    return [dry.status, start.status, (await world.call('GET /v1/bulk', { token: by })).status];
  };
  expect([await asked(read), await asked(operate), await asked(submit)]).toEqual([
    [200, 403, 200],
    [403, 202, 403],
    [403, 403, 403],
  ]);
  expect((await world.call('GET /v1/bulk', {})).status).toBe(401);
  await world.client.submit('items', items('q', '6'));
  const patch = { handler: 'items', where: { id: '6' }, action: { do: 'update', payloadPatch: { note: 'x' } } };
  const patching = async (by: string): Promise<number[]> => {
    const as = { body: patch, token: by };
    const answers = [
      await world.call('POST /v1/bulk:dry-run', as),
      await world.call('POST /v1/bulk', { ...as, headers: { 'dry-run': 'true' } }),
      await world.call('POST /v1/bulk', as),
      await world.call('POST /v1/bulk', { ...as, key: 'k-patch' }),
    ];
    return answers.map(({ status }) => status);
  };
  const before = await world.client.bulk.list();
  expect([await patching(most), await patching(reader)]).toEqual([
    [403, 403, 403, 403],
    [200, 403, 403, 403],
  ]);
  expect((await world.client.bulk.list()).actions).toHaveLength(before.actions.length);
  expect([await patching(all), await patching(admin)]).toEqual(Array(2).fill([200, 200, 202, 202]));
  const refused = await world.call('POST /v1/bulk', { body: patch, token: most });
  expect(refused.body.detail).toContain('Expected a token with scope submit');
  // What changes no payload needs no more than before.
  const others = { ...patch, action: { do: 'update', weight: 1 } };
  expect((await world.call('POST /v1/bulk', { body: others, token: most })).status).toBe(202);
});
