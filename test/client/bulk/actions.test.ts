import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { TASK_STATES } from '../../../workflows/planning/states';
import type { Shop } from '../shop';
import { broken, cut, endAlone, items, openShop, placesOf, statesOf } from '../shop';
import { made, makeSteps } from './made';

/** What each bulk action does, in a store where nothing else moves. */

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(async () => {
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

test('waiting tasks of one target are cancelled, wherever they wait; what is sent or elsewhere stays', async () => {
  await shop.client.submit('items', [
    ...items('se', 'a', 'b', 'sent'),
    ...items('no', 'c'),
    { id: 'later', payload: { to: 'se' }, notBefore: '2099-01-01' },
    { id: 'held', payload: { to: 'se' }, dependsOn: ['c'] },
  ]);
  await cut(shop.pool, ['sent']);
  const where = { target: 'se' };
  const action = { do: 'cancel' } as const;
  const counted = await shop.client.bulk.dryRun({ handler: 'items', where, action });
  expect(counted).toMatchObject({ count: 4, complete: true });
  expect(counted.sample.map(({ id, target, state }) => [id, target, state])).toEqual(
    ['a', 'b', 'later', 'held'].map((id) => [id, 'se', 'created']),
  );
  expect(await made(shop.client, { handler: 'items', where, action })).toMatchObject({
    state: 'done',
    total: 4,
    done: 4,
    skipped: 0,
    failed: 0,
    action,
    where: { target: 'se', state: 'created' },
    door: 'client',
    who: expect.stringMatching(`@${hostname()}$`),
  });
  expect(await statesOf(shop.client, 'a', 'b', 'later', 'held', 'c', 'sent')).toEqual([
    ...['a cancelled 0', 'b cancelled 0', 'later cancelled 0', 'held cancelled 0'],
    ...['c created 0', 'sent batched 0'],
  ]);
});

test('failed and dead tasks are sent again by their error: whole batches, and tasks beside others', async () => {
  await shop.client.submit('items', items('se', 'a', 'b', 'c', 'd', 'e', 'f'));
  await cut(shop.pool, ['a', 'b'], { state: 6, error: 'HTTP 503 for order 1' });
  const mixed = await cut(shop.pool, ['c', 'd', 'e'], { state: 4 });
  await endAlone(shop.pool, 'c', TASK_STATES.dead, 'HTTP 503 for order 22');
  await endAlone(shop.pool, 'd', TASK_STATES.dead, 'HTTP 404 for order 503');
  await cut(shop.pool, ['f'], { state: 5, error: 'HTTP 503' });
  const redrive = (where: object) =>
    made(shop.client, { handler: 'items', where: { state: 'dead', ...where }, action: { do: 'redrive' } });
  expect(await redrive({ error: '503', until: 0 })).toMatchObject({ state: 'done', total: 0, done: 0 });
  expect(await redrive({ errorGroup: 'HTTP 503 for order <n>' })).toMatchObject({ total: 3, done: 3, failures: {} });
  expect(await statesOf(shop.client, 'a', 'b', 'c', 'd', 'f')).toEqual([
    ...['a created 0', 'b created 0', 'c created 0'],
    ...['d dead 1', 'f failed 1'],
  ]);
  expect(await shop.client.batch(mixed)).toMatchObject({ state: 'succeeded', left: 2 });
  expect((await shop.client.targets('items'))[0]!.dueInMs).toBeGreaterThan(55_000); // it is rung
  expect(await redrive({ errorCode: '404', since: new Date(Date.now() - 60_000) })).toMatchObject({ done: 1 });
  expect(await statesOf(shop.client, 'd', 'e')).toEqual(['d created 0', 'e succeeded 1']);
});

test('succeeded tasks are sent again after a fix, out of whole batches and beside others', async () => {
  await shop.client.submit('items', items('se', 'a', 'b', 'c', 'd'));
  const whole = await cut(shop.pool, ['a', 'b'], { state: 4, results: [[0, 'ok']] });
  const mixed = await cut(shop.pool, ['c', 'd'], { state: 5, error: 'no' });
  await endAlone(shop.pool, 'c', TASK_STATES.succeeded, null);
  const input = { handler: 'items', where: { state: 'succeeded' }, action: { do: 'redrive' }, limit: 2 } as const;
  expect(await made(shop.client, input)).toMatchObject({ state: 'done', total: 2, done: 2, limit: 2 });
  expect(await made(shop.client, input)).toMatchObject({ state: 'done', total: 1, done: 1 });
  expect(await statesOf(shop.client, 'a', 'b', 'c', 'd')).toEqual([
    ...['a created 0', 'b created 0', 'c created 0', 'd failed 1'],
  ]);
  expect(await shop.client.batch(whole)).toMatchObject({ state: 'dissolved', left: 2 });
  expect(await shop.client.batch(mixed)).toMatchObject({ state: 'failed', left: 1 });
  expect(await shop.client.getTask('a')).not.toHaveProperty('result');
});

test('parked tasks end as succeeded or failed, and their recipients are told in the same step', async () => {
  const callback = { url: 'https://hooks.example.com/x' };
  await shop.client.submit('items', [...items('se', 'a', 'b', 'c').map((task) => ({ ...task, callback }))]);
  await cut(shop.pool, ['a', 'b'], { state: 3, error: 'timed out after 5 s' });
  await cut(shop.pool, ['c'], { state: 3, error: 'connection reset' });
  const resolve = (where: object, how: object) =>
    made(shop.client, { handler: 'items', where, action: { do: 'resolve', ...how } as never });
  expect(await resolve({ error: 'timed out' }, { as: 'succeeded', result: { by: 'hand' } })).toMatchObject({
    done: 2,
    action: { do: 'resolve', as: 'succeeded' },
  });
  expect(await shop.client.getTask('b')).toMatchObject({ state: 'succeeded', result: { by: 'hand' } });
  expect(await resolve({}, { as: 'failed', error: 'lost' })).toMatchObject({ done: 1, action: { error: 'lost' } });
  expect(await shop.client.getTask('c')).toMatchObject({ state: 'failed', error: 'lost' });
  const { rows } = await shop.pool.query<{ body: { tasks: { id: string; state: string }[] } }>(
    'select body from notification order by id',
  );
  expect(rows.flatMap(({ body }) => body.tasks.map(({ id, state }) => `${id} ${state}`)).sort()).toEqual([
    ...['a succeeded', 'b succeeded', 'c failed'],
  ]);
});

test('waiting tasks get another priority, weight or time; as they are already, they are not counted', async () => {
  await shop.client.submit('items', [
    ...items('se', 'a', 'b'),
    { id: 'later', payload: { to: 'se' }, notBefore: '2099-01-01' },
    { id: 'held', payload: { to: 'se' }, dependsOn: ['a'] },
    { id: 'urgent', payload: { to: 'se' }, priority: -5 },
  ]);
  const update = (how: object) => made(shop.client, { handler: 'items', action: { do: 'update', ...how } as never });
  expect(await update({ priority: -5, weight: 2.5 })).toMatchObject({ state: 'done', total: 5, done: 5, skipped: 0 });
  expect(await update({ priority: -5, weight: 2.5 })).toMatchObject({ total: 0, done: 0 });
  expect(await update({ priority: 7 })).toMatchObject({ total: 5, done: 5 });
  const { rows } = await shop.pool.query(
    `select priority, weight from queue union select priority, weight from delayed
     union select priority, weight from task`,
  );
  expect(rows).toEqual([{ priority: 7, weight: 2.5 }]);
  const notBefore = '2098-01-01T00:00:00.000Z';
  expect(await update({ notBefore })).toMatchObject({ total: 5, done: 5, action: { notBefore } });
  expect(await placesOf(shop.pool, 'a')).toEqual(['delayed']);
  expect((await shop.client.getTasks(['a', 'later', 'held'])).map((task) => task.notBefore)).toEqual(
    Array(3).fill(notBefore),
  );
  expect(await update({ notBefore: null })).toMatchObject({ total: 5, done: 5 });
  expect([await placesOf(shop.pool, 'later'), await placesOf(shop.pool, 'held')]).toEqual([['queue'], ['held']]);
  expect((await shop.client.getTask('held'))!.notBefore).toBeUndefined();
  expect(await update({ notBefore: '2001-01-01' })).toMatchObject({ total: 0, action: { notBefore: null } });
});

test('failed tasks are sent again before those that failed because of them, along a whole chain', async () => {
  const depends = (id: string, on: string) => ({ id, payload: { to: 'se' }, dependsOn: [on] });
  await shop.client.submit('items', [...items('se', 'a'), depends('b', 'a'), depends('c', 'b'), depends('d', 'c')]);
  await cut(shop.pool, ['a']);
  await shop.pool.query(
    `
update batch set state = 5, attempt = 1, counted = 1, dispatch = null, started_at = clock(), finished_at = clock()`,
  );
  await shop.pool.query('delete from dispatch');
  // Between them so many that they are not in one step.
  const others = Array.from({ length: 600 }, (_, i) => `o${i}`);
  await shop.client.submit('items', items('se', ...others));
  await cut(shop.pool, others, { state: 5 });
  await shop.client['connection'].releaseDependents();
  expect(await statesOf(shop.client, 'a', 'b', 'c', 'd')).toEqual([
    'a failed 1',
    'b failed 0',
    'c failed 0',
    'd failed 0',
  ]);
  const input = { handler: 'items', where: { state: 'failed' }, action: { do: 'redrive' } } as const;
  expect(await made(shop.client, input)).toMatchObject({ state: 'done', total: 604, done: 604, skipped: 0 });
  expect(await statesOf(shop.client, 'a', 'b', 'c', 'd')).toEqual([
    ...['a created 0', 'b created 0', 'c created 0', 'd created 0'],
  ]);
  expect([await placesOf(shop.pool, 'a'), await placesOf(shop.pool, 'd')]).toEqual([['queue'], ['held']]);
  await shop.pool.query(`update leader set state = 0, expires_at = null, wake_at = null`);
});

test('many tasks are changed in steps of at most 500, and counted before', async () => {
  const ids = Array.from({ length: 1_200 }, (_, i) => `t${String(i).padStart(4, '0')}`);
  await shop.client.submit('items', items('se', ...ids));
  const { id } = await shop.client.bulk.start({ handler: 'items', action: { do: 'cancel' } });
  expect(await shop.client.bulk.get(id)).toMatchObject({ state: 'counting', total: 0, perSecond: null });
  expect(await makeSteps(shop.client)).toBe(4);
  const view = (await shop.client.bulk.get(id))!;
  expect(view).toMatchObject({ state: 'done', total: 1_200, done: 1_200 });
  expect(view.perSecond).toBeGreaterThan(10);
  expect(view.finishedAt).not.toBeNull();
});

test('with the same id nothing is started twice; lists are in pages, newest first; bad ids are refused', async () => {
  await shop.client.submit('items', items('se', 'a'));
  const id = randomUUID();
  const input = { handler: 'items', action: { do: 'cancel' } } as const;
  await made(shop.client, { ...input, id });
  await shop.client.submit('items', items('se', 'b'));
  expect(await made(shop.client, { ...input, id })).toMatchObject({ state: 'done', total: 1 });
  expect(await statesOf(shop.client, 'b')).toEqual(['b created 0']);
  const second = await shop.client.bulk.start(input);
  const page = await shop.client.bulk.list({ limit: 1 });
  expect(page.actions.map((one) => one.id)).toEqual([second.id]);
  const rest = await shop.client.bulk.list({ handler: 'items', after: page.next! });
  expect(rest).toMatchObject({ actions: [{ id }], next: null });
  expect((await shop.client.bulk.list({ open: true })).actions).toHaveLength(1);
  expect(await shop.client.bulk.get(randomUUID())).toBeNull();
  await expect(shop.client.bulk.stop(randomUUID())).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(shop.client.bulk.get('7')).rejects.toThrow('id: expected the id of a bulk action');
});

test('a wrong filter or action is refused, and nothing is started', async () => {
  await shop.client.submit('items', items('se', 'a'));
  const start = (input: object): Promise<unknown> => shop.client.bulk.start({ handler: 'items', ...input } as never);
  const bad = async (input: object, message: string): Promise<void> => {
    await expect(start(input)).rejects.toThrow(message);
    await expect(shop.client.bulk.dryRun({ handler: 'items', ...input } as never)).rejects.toThrow(message);
  };
  const redrive = { do: 'redrive' };
  await bad(
    { action: { do: 'drop' } },
    'action.do: expected one of "cancel", "redrive", "resolve", "update", got "drop".',
  );
  await bad({}, 'action.do: expected one of');
  await bad({ action: redrive }, 'where.state: expected one of "failed", "dead", "unknown", "succeeded", got nothing.');
  await bad(
    { action: { do: 'cancel' }, where: { state: 'dead' } },
    'where.state: expected one of "created", got "dead".',
  );
  await bad({ action: { do: 'cancel' }, where: { targets: 'x' } }, 'where.targets: expected only state, target, tag');
  await bad({ action: { do: 'cancel', priority: 1 } }, 'action.priority: expected only do, got "priority".');
  await bad(
    { action: { do: 'update' } },
    'action: expected payloadPatch, priority, weight, notBefore or expiresAt with update',
  );
  const patch = { do: 'update', payloadPatch: { note: 'n' } };
  for (const [field, value] of [['priority', 4] as const, ['notBefore', null] as const])
    await bad(
      { action: { ...patch, [field]: value } },
      `action.${field}: expected nothing beside payloadPatch, got ${String(value)}. Start two actions:`,
    );
  await bad({ action: { do: 'update', weight: -1 } }, 'action.weight: expected a number of at least 0, got -1.');
  await bad({ action: { do: 'resolve', as: 'created' } }, 'action.as: expected one of "succeeded", "failed"');
  await bad({ action: redrive, where: { state: 'dead', since: 'x' } }, 'where.since: expected a date, ISO time');
  await bad(
    { action: redrive, where: { state: 'dead', target: 'none' } },
    'Target "none" of handler "items" not found.',
  );
  await expect(start({ handler: 'none', action: { do: 'cancel' } })).rejects.toThrow('Handler "none" not found.');
  expect(await shop.client.bulk.list()).toEqual({ actions: [], next: null });
});

test('no weight is heavier than a call of the handler may be', async () => {
  await shop.stop();
  shop = await openShop({ limits: { maxItems: 10, maxWeight: 5 } });
  await shop.client.submit('items', items('se', 'a'));
  const update = (weight: number) => shop.client.bulk.start({ handler: 'items', action: { do: 'update', weight } });
  await expect(update(6)).rejects.toThrow(
    'action.weight: expected at most 5, as a call of the handler may have, got 6.',
  );
  expect(await update(5)).toMatchObject({ state: 'counting' });
});
