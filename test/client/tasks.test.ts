import { TASK_STATES } from '../../workflows/planning/states';
import type { Shop } from './shop';
import { broken, cut, endAlone, items, openShop } from './shop';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.stop());

test('getTask: a created task, all of it', async () => {
  await shop.client.submit('items', { id: 'c1', payload: { to: 'se', note: 'Grüße 🎈' }, priority: 7 });
  expect(await shop.client.getTask('c1')).toEqual({
    id: 'c1',
    handler: 'items',
    target: 'se',
    state: 'created',
    attempts: 0,
    batch: null,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
    priority: 7,
    payload: { to: 'se', note: 'Grüße 🎈' },
    error: null,
  });
  await shop.client.submit('items', { id: 'c2', payload: { to: 'se' }, notBefore: '2099-01-02T03:04:05Z' });
  expect(await shop.client.getTask('c2')).toMatchObject({ state: 'created', notBefore: '2099-01-02T03:04:05.000Z' });
});

test('getTask: batched, in progress, unknown with its evidence', async () => {
  await shop.client.submit('items', items('no', 's1', 's2', 's3'));
  const open = await cut(shop.pool, ['s1']);
  await cut(shop.pool, ['s2'], { attempt: 1 });
  await cut(shop.pool, ['s3'], { state: TASK_STATES.unknown, error: 'timed out' });
  expect(await shop.client.getTask('s1')).toMatchObject({ state: 'batched', batch: open, attempts: 0 });
  expect(await shop.client.getTask('s2')).toMatchObject({ state: 'in-progress' });
  const parked = await shop.client.getTask('s3');
  expect(parked).toMatchObject({ state: 'unknown', error: 'timed out', attempts: 1 });
  expect(parked).not.toHaveProperty('finishedAt');
});

test('getTasks: each gets the value of its own place in the batch, also null and none (H8)', async () => {
  await shop.client.submit('items', items('dk', 'r0', 'r1', 'r2', 'r3', 'r4'));
  const batch = await cut(shop.pool, ['r3', 'r0', 'r4', 'r1', 'r2'], {
    state: TASK_STATES.succeeded,
    results: [
      [0, { of: 'r3' }],
      [3, ['r1']],
      [2, null],
      [4, 0],
    ],
  });
  // An earlier attempt's page, of an answer that broke off, is not shown.
  await shop.pool.query({
    text: `insert into result_page values ($1, 0, 0, 1, 1, '[[1, "stale"]]')`,
    values: [batch],
  });
  await endAlone(shop.pool, 'r2', TASK_STATES.failed, 'refused');
  const tasks = await shop.client.getTasks(['r0', 'r1', 'r2', 'r3', 'r4', 'nobody']);
  expect(
    tasks.map(({ id, state, batch: of, ...rest }) => [id, state, of, rest.result, rest.error, rest.attempts]),
  ).toEqual([
    ['r0', 'succeeded', batch, undefined, null, 1],
    ['r1', 'succeeded', batch, ['r1'], null, 1],
    ['r2', 'failed', batch, 0, 'refused', 1],
    ['r3', 'succeeded', batch, { of: 'r3' }, null, 1],
    ['r4', 'succeeded', batch, null, null, 1],
  ]);
  expect(tasks[0]).not.toHaveProperty('result');
  expect(tasks[4]).toHaveProperty('result', null);
  for (const task of tasks) expect(Date.parse(task.finishedAt!)).toBeGreaterThan(Date.now() - 60_000);
});

test('a task that is not there is null, and left out of many', async () => {
  expect(await shop.client.getTask('nobody')).toBeNull();
  expect(await shop.client.getTasks(['nobody'])).toEqual([]);
  expect(await shop.client.getTasks([])).toEqual([]);
});

test('bad ids: the message names the field, what was expected and what came', async () => {
  await expect(shop.client.getTask('')).rejects.toThrow('id: expected a non-empty string without NUL, got "".');
  await expect(shop.client.getTask(7 as never)).rejects.toThrow('id: expected a non-empty string without NUL, got 7.');
  await expect(shop.client.getTasks(['ok', 'a\0b'])).rejects.toThrow(/^ids\[1\]: expected a non-empty string/);
  const many = Array.from({ length: 1_001 }, (_, i) => `m${i}`);
  await expect(shop.client.getTasks(many)).rejects.toThrow('ids: expected at most 1000 ids in one call, got 1001.');
});

test('the store is whole after all this', async () => {
  expect(await broken(shop.client)).toEqual({});
});
