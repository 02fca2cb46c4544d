import type { Shop } from '../shop';
import { broken, cut, openShop, statesOf } from '../shop';
import { made } from './made';

/** Bulk actions on tasks with a tag. */

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(async () => {
  await shop.pool.query(`update leader set state = 0, expires_at = null, wake_at = null`);
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

const task = (id: string, more: object = {}) => ({ id, payload: { to: 'se', note: id }, ...more });
const red = (id: string, more: object = {}) => task(id, { tags: ['red', 'blue'], ...more });

test('only tasks with the tag are changed, those that failed because of others after these', async () => {
  const depends = (id: string, needs: string, more: object = {}) => task(id, { dependsOn: [needs], ...more });
  await shop.client.submit('items', [
    red('a'),
    task('plain'),
    depends('b', 'a', { tags: ['red'] }),
    depends('c', 'b', { tags: ['red'] }),
    depends('d', 'a'),
  ]);
  await cut(shop.pool, ['a', 'plain']);
  await shop.pool.query(`
update batch set state = 5, attempt = 1, counted = 1, dispatch = null, started_at = clock(), finished_at = clock()`);
  await shop.pool.query('delete from dispatch');
  // Between them so many that they are not in one step.
  const others = Array.from({ length: 600 }, (_, i) => `o${i}`);
  await shop.client.submit(
    'items',
    others.map((id) => red(id)),
  );
  await cut(shop.pool, others, { state: 5 });
  await shop.client['connection'].releaseDependents();
  const where = { tag: 'red', state: 'failed' } as const;
  const action = { do: 'redrive' } as const;
  expect(await shop.client.bulk.dryRun({ handler: 'items', where, action })).toMatchObject({ count: 603 });
  expect(await made(shop.client, { handler: 'items', where, action })).toMatchObject({ total: 603, done: 603, where });
  expect(await statesOf(shop.client, 'a', 'b', 'c', 'o0', 'plain', 'd')).toEqual([
    ...['a created 0', 'b created 0', 'c created 0', 'o0 created 0', 'plain failed 1', 'd failed 0'],
  ]);
});

test('waiting tasks are cancelled, wherever they wait, of one target; what came after the start stays', async () => {
  await shop.client.submit('items', [
    red('a'),
    red('later', { notBefore: '2099-01-01' }),
    red('held', { dependsOn: ['a'] }),
    red('sent'),
    task('plain'),
    { ...red('elsewhere'), payload: { to: 'no' } },
  ]);
  await cut(shop.pool, ['sent']);
  const input = { handler: 'items', where: { tag: 'blue', target: 'se' }, action: { do: 'cancel' } } as const;
  const { id } = await shop.client.bulk.start(input);
  await shop.client.submit('items', red('young'));
  expect(await made(shop.client, { ...input, id })).toMatchObject({ total: 3, done: 3, skipped: 0 });
  expect(await statesOf(shop.client, 'a', 'later', 'held', 'sent', 'plain', 'elsewhere', 'young')).toEqual([
    ...['a cancelled 0', 'later cancelled 0', 'held cancelled 0'],
    ...['sent batched 0', 'plain created 0', 'elsewhere created 0', 'young created 0'],
  ]);
  await expect(shop.client.bulk.dryRun({ ...input, where: { tag: '' } })).rejects.toThrow(/^where.tag: expected 1-100/);
});

test('one task by its id is changed only if it has the tag, the target and the handler, also to redrive it', async () => {
  await shop.client.submit('items', [red('a'), task('plain'), red('failed'), red('other', { payload: { to: 'no' } })]);
  await cut(shop.pool, ['failed'], { state: 5 });
  const action = { do: 'update', weight: 2 } as const;
  const doneOf = async (where: object, given: object = action): Promise<number> =>
    (await made(shop.client, { handler: 'items', where, action: given as never })).done;
  expect(await doneOf({ id: 'plain', tag: 'red' })).toBe(0);
  expect(await doneOf({ id: 'a', tag: 'red', target: 'no' })).toBe(0);
  expect(await doneOf({ id: 'nothing' })).toBe(0);
  expect(await doneOf({ id: 'a', tag: 'red', target: 'se' })).toBe(1);
  const { rows } = await shop.pool.query('select id, weight from task order by id');
  expect(rows).toEqual([
    { id: 'a', weight: 2 },
    { id: 'failed', weight: null },
    { id: 'other', weight: null },
    { id: 'plain', weight: null },
  ]);
  expect(await doneOf({ id: 'a', state: 'failed' }, { do: 'redrive' })).toBe(0);
  expect(await doneOf({ id: 'failed', state: 'failed' }, { do: 'redrive' })).toBe(1);
});
