import { TASK_STATES } from '../../workflows/planning/states';
import type { Shop } from './shop';
import { broken, cut, endAlone, items, openShop, placesOf, statesOf } from './shop';

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(async () => {
  // Every test leaves a whole store; nobody works here, so what is due is not looked at.
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

test('dead and failed tasks beside others that succeeded are created again with fresh attempts [G9]', async () => {
  await shop.client.submit('items', items('se', 'a', 'b', 'c', 'd'));
  const batch = await cut(shop.pool, ['a', 'b', 'c', 'd'], { state: 4 });
  await endAlone(shop.pool, 'b', TASK_STATES.dead, 'gave up');
  await endAlone(shop.pool, 'c', TASK_STATES.failed, 'refused');
  expect(await statesOf(shop.client, 'a', 'b', 'c')).toEqual(['a succeeded 1', 'b dead 1', 'c failed 1']);
  expect(await shop.client.redrive('items', { only: 'dead' })).toEqual({ redriven: 1 });
  expect(await statesOf(shop.client, 'a', 'b', 'c')).toEqual(['a succeeded 1', 'b created 0', 'c failed 1']);
  expect(await placesOf(shop.pool, 'b')).toEqual(['queue']);
  expect(await shop.client.redrive('items', { only: 'dead' })).toEqual({ redriven: 0 });
  expect(await shop.client.redrive('items', { only: 'failed', target: 'se' })).toEqual({ redriven: 1 });
  expect(await statesOf(shop.client, 'b', 'c')).toEqual(['b created 0', 'c created 0']);
  expect((await shop.client.targets('items'))[0]!.dueInMs).toBeGreaterThan(55_000); // rung: the linger starts again
  expect(await shop.client.batch(batch)).toMatchObject({ state: 'succeeded', n: 4, left: 2 });
});

test('a batch that failed as a whole is dissolved when all have left, step by step [G9]', async () => {
  await shop.client.submit('items', items('se', 'a', 'b', 'c'));
  const batch = await cut(shop.pool, ['a', 'b', 'c'], { state: 5, error: 'refused' });
  expect(await shop.client.redrive('items', { only: 'failed', limit: 2 })).toEqual({ redriven: 2 });
  expect(await statesOf(shop.client, 'a', 'b', 'c')).toEqual(['a created 0', 'b created 0', 'c failed 1']);
  expect(await shop.client.batch(batch)).toMatchObject({ state: 'failed', left: 2 });
  expect(await shop.client.redrive('items', { only: 'failed' })).toEqual({ redriven: 1 });
  expect(await shop.client.batch(batch)).toMatchObject({
    state: 'dissolved',
    left: 3,
    finishedAt: expect.any(String) as string,
  });
});

test('parked tasks; a late answer to what they left is not written any more [G9]', async () => {
  await shop.client.submit('items', items('se', 'a', 'b'));
  const batch = await cut(shop.pool, ['a', 'b'], { state: 3, attempt: 1, error: 'timed out' });
  await shop.pool.query({ text: `update batch set reference = 'ref-1' where id = $1`, values: [batch] });
  expect(await shop.client.redrive('items', { only: 'unknown', ids: ['b'] })).toEqual({ redriven: 1 });
  expect(await statesOf(shop.client, 'a', 'b')).toEqual(['a unknown 1', 'b created 0']);
  expect(await shop.client.batch(batch)).toMatchObject({ state: 'unknown', left: 1, attempts: 2, reference: null });
  expect(await shop.client.redrive('items', { only: 'unknown' })).toEqual({ redriven: 1 });
  expect(await shop.client.batch(batch)).toMatchObject({ state: 'dissolved', left: 2 });
});

test('a failed task gave its key back: redriven, it waits behind the one that holds it now; a parked one keeps it [H6]', async () => {
  await shop.stop();
  shop = await openShop({ distinctBy: (item) => item.key! });
  const task = (id: string, key: string) => ({ id, payload: { to: 'se', key } });
  await shop.client.submit('items', [task('a', 'k'), task('b', 'k'), task('p', 'x')]);
  const holder = async (key: string): Promise<string | undefined> =>
    (
      await shop.pool.query<{ id: string }>({
        text: 'select t.id from busy_key b join task t using (seq) where b.key = $1',
        values: [key],
      })
    ).rows[0]?.id;
  const hold = (id: string) =>
    shop.pool.query({
      text: 'insert into busy_key (target_id, key, seq) select target_id, key, seq from task where id = $1',
      values: [id],
    });
  await cut(shop.pool, ['a'], { state: 5 });
  await hold('b');
  await cut(shop.pool, ['b']);
  await hold('p');
  await cut(shop.pool, ['p'], { state: 3 });
  expect(await shop.client.redrive('items', { only: 'failed' })).toEqual({ redriven: 1 });
  expect(await holder('k')).toBe('b');
  expect(await shop.client.explain('a')).toMatchObject({ waitsFor: 'key' });
  expect(await shop.client.redrive('items', { only: 'unknown' })).toEqual({ redriven: 1 });
  expect(await holder('x')).toBe('p');
  expect(await statesOf(shop.client, 'a', 'p')).toEqual(['a created 0', 'p created 0']);
  expect((await shop.client.explain('p')).waitsFor).not.toBe('key');
});

test('many, in transactions of at most 1,000, each rung; two at a time share them', async () => {
  const ids = Array.from({ length: 2_300 }, (_, i) => `t${i}`);
  await shop.client.submit(
    'items',
    ids.map((id, i) => ({ id, payload: { to: i < 2_000 ? 'big' : 'small' } })),
  );
  await cut(shop.pool, ids.slice(0, 2_000), { state: 5 });
  await cut(shop.pool, ids.slice(2_000), { state: 5 });
  const rung: number[] = [];
  const ring = jest
    .spyOn(shop.client['connection'], 'ring')
    .mockImplementation((targets) => Promise.resolve(void rung.push([...targets].length)));
  const [one, two] = await Promise.all([
    shop.client.redrive('items', { only: 'failed' }),
    shop.client.redrive('items', { only: 'failed', limit: 1_000 }),
  ]);
  ring.mockRestore();
  expect(one.redriven + two.redriven).toBe(2_300);
  expect(two.redriven).toBeLessThanOrEqual(1_000);
  expect(rung.filter((targets) => targets > 0).length).toBeGreaterThanOrEqual(3);
  expect((await shop.client.status('items'))[0]).toMatchObject({
    counts: { created: 2_300, failed: 0 },
    identityHolds: true,
  });
});

test('given ids: those in another state stay as they are, one that is not there stops all', async () => {
  await shop.client.submit('items', [...items('se', 'a', 'b', 'c'), ...items('no', 'd')]);
  await cut(shop.pool, ['a', 'b'], { state: 5 });
  expect(await shop.client.redrive('items', { only: 'failed', ids: ['a', 'c', 'd'] })).toEqual({ redriven: 1 });
  expect(await statesOf(shop.client, 'a', 'b', 'c')).toEqual(['a created 0', 'b failed 1', 'c created 0']);
  expect(await shop.client.redrive('items', { only: 'dead', ids: ['b'] })).toEqual({ redriven: 0 });
  await expect(shop.client.redrive('items', { only: 'failed', ids: ['b', 'nobody'] })).rejects.toThrow(
    'Task "nobody" of handler "items" not found. Nothing was redriven.',
  );
  await expect(shop.client.redrive('items', { only: 'failed', target: 'no', ids: ['b'] })).rejects.toThrow(
    'Task "b" of handler "items", target "no" not found. Nothing was redriven.',
  );
  expect(await statesOf(shop.client, 'b')).toEqual(['b failed 1']);
});

test('bad options are refused', async () => {
  const redrive = (options: object): Promise<unknown> => shop.client.redrive('items', options as never);
  await expect(redrive({ only: 'succeeded' })).rejects.toThrow(
    'only: expected one of "failed", "unknown", "dead", got "succeeded".',
  );
  await expect(redrive({})).rejects.toThrow('only: expected one of "failed", "unknown", "dead", got nothing.');
  await expect(redrive({ only: 'dead', limit: 0 })).rejects.toThrow(
    'limit: expected a whole number from 1 to 1000000000, got 0.',
  );
  await expect(redrive({ only: 'dead', ids: 7 })).rejects.toThrow('ids: expected a task id or a list of them, got 7.');
});
