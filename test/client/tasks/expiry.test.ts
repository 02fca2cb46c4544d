import { expireSome } from '../../../client/operations/expire';
import { eventually } from '../../helpers/eventually';
import type { Shop } from '../shop';
import { made, makeSteps } from '../bulk/made';
import { broken, cut, items, openShop, placesOf, statesOf } from '../shop';

/** Tasks that still wait when their time has passed. */

let shop: Shop;
beforeEach(async () => {
  shop = await openShop({ distinctBy: (item) => item.key ?? `own ${item.note ?? ''}` });
});
afterEach(async () => {
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

const SOON = '2099-01-01T00:00:00Z';
const named = (id: string, more: object = {}) => ({ id, payload: { to: 'se', note: id }, expiresAt: SOON, ...more });
/** The time has come. */
const pass = async (): Promise<number> => {
  await shop.pool.query(`update expiry set at = clock() - interval '1 s'`);
  return expireSome(shop.client, () => undefined);
};
const rows = async (): Promise<number> => (await shop.pool.query('select from expiry')).rowCount!;

test('a task that waits fails, wherever it waits; so do its dependents, and its recipient is told why', async () => {
  await shop.client.submit('items', [
    named('a', { callback: { url: 'https://hooks.example.com/x' } }),
    named('later', { notBefore: '2098-01-01' }),
    named('held', { dependsOn: ['free'] }),
    { id: 'free', payload: { to: 'se', note: 'free' } },
    { id: 'b', payload: { to: 'no', note: 'b' }, dependsOn: ['a'] },
  ]);
  expect(await expireSome(shop.client, () => undefined)).toBe(0);
  expect(await pass()).toBe(3);
  expect(await statesOf(shop.client, 'a', 'later', 'held', 'free')).toEqual([
    ...['a failed 0', 'later failed 0', 'held failed 0', 'free created 0'],
  ]);
  expect(await shop.client.getTask('a')).toMatchObject({
    error: 'Expired: it was still waiting when its expiresAt had passed.',
  });
  await eventually(async () => (await shop.client.getTask('b'))!.state === 'failed');
  const { rows: told } = await shop.pool.query<{ body: object }>('select body from notification');
  expect(told).toHaveLength(1);
  expect(JSON.stringify(told)).toContain('Expired: it was still waiting');
  expect(await rows()).toBe(0);
});

test('what is in a batch is sent; if it comes back to wait, it expires', async () => {
  await shop.client.submit('items', [named('a'), named('b'), named('c')]);
  await cut(shop.pool, ['a']);
  await cut(shop.pool, ['b'], { state: 4 });
  expect(await pass()).toBe(3);
  expect(await statesOf(shop.client, 'a', 'b', 'c')).toEqual(['a batched 0', 'b succeeded 1', 'c failed 0']);
  expect(await rows()).toBe(1); // that of a, which is looked at again
  expect(await expireSome(shop.client, () => undefined)).toBe(0);
  await shop.pool.query('delete from member using batch b where b.id = batch_id and b.state = 1');
  await shop.pool.query('delete from batch where state = 1; delete from dispatch');
  await shop.pool.query('update leader set state = 0, expires_at = null, wake_at = null');
  await shop.pool.query(`
insert into queue (target_id, priority, seq, ready_at, bytes, key)
select target_id, priority, seq, clock(), bytes, key from task where id = 'a'`);
  expect(await pass()).toBe(1);
  expect(await statesOf(shop.client, 'a')).toEqual(['a failed 0']);
});

test('until it has ended it is shown when it expires, also where the next look was put off', async () => {
  const at = new Date(SOON).toISOString();
  await shop.client.submit('items', [named('a'), named('b'), { id: 'plain', payload: { to: 'se', note: 'plain' } }]);
  const shown = async (id: string): Promise<(string | undefined)[]> => [
    (await shop.client.getTask(id))!.expiresAt,
    ...(await listed(id)),
  ];
  const listed = async (id: string): Promise<(string | undefined)[]> => {
    const state = (await shop.client.getTask(id))!.state;
    const { tasks } = await shop.client.tasks.list('items', { state });
    return tasks.filter((task) => task.id === id).map(({ expiresAt }) => expiresAt);
  };
  expect([await shown('a'), await shown('plain')]).toEqual([
    [at, at],
    [undefined, undefined],
  ]);
  expect((await shop.client.explain('a')).text).toMatch(
    / closes in [^.]+, or when it is full\. It expires at 2099-01-01T00:00:00\.000Z if it has not been sent by then\.$/,
  );
  expect((await shop.client.explain('plain')).text).not.toContain('expires');
  await cut(shop.pool, ['a']);
  await cut(shop.pool, ['b'], { state: 4 });
  expect(await shown('b')).toEqual([undefined, undefined]);
  const { expiresAt: before } = (await shop.client.getTask('a'))!;
  await pass();
  const passed = (await shop.client.getTask('a'))!.expiresAt;
  expect(before).toBe(at);
  expect(Date.parse(passed!)).toBeLessThan(Date.now() + 5_000); // when it was to expire, not when it is looked at again
  expect(await shown('a')).toEqual([passed, passed]);
  expect((await shop.client.explain('a')).text).not.toContain('expires');
  expect(await shown('b')).toEqual([undefined, undefined]);
  await shop.pool.query(`insert into busy_key select target_id, key, seq from task where id = 'a'`);
});

test('a redrive sends it, whatever its time was; a repeated submit gives it no other', async () => {
  await shop.client.submit('items', named('a'));
  await shop.client.submit('items', named('a', { expiresAt: '2001-01-01' }));
  expect(await expireSome(shop.client, () => undefined)).toBe(0);
  await pass();
  expect(await shop.client.redrive('items', { only: 'failed' })).toEqual({ redriven: 1 });
  expect(await placesOf(shop.pool, 'a')).toEqual(['queue']);
  expect(await pass()).toBe(0);
  expect(await statesOf(shop.client, 'a')).toEqual(['a created 0']);
});

test('many in one call, and in a transaction of the caller; in a lane it is refused', async () => {
  const many = Array.from({ length: 120 }, (_, i) => named(`m${i}`));
  await shop.client.submit('items', many);
  const tx = await shop.pool.connect();
  try {
    await tx.query('begin');
    await shop.client.submit('items', named('t'), { tx });
    await tx.query('commit');
  } finally {
    tx.release();
  }
  expect(await pass()).toBe(121);
  expect(await statesOf(shop.client, 'm0', 'm119', 't')).toEqual(['m0 failed 0', 'm119 failed 0', 't failed 0']);
  await shop.stop();
  shop = await openShop({ service: (target) => target, lane: { approach: 'serial' } });
  await expect(shop.client.submit('items', { ...items('se', 'x')[0]!, expiresAt: SOON })).rejects.toThrow(
    'expiresAt: expected no expiresAt in a lane',
  );
  await expect(shop.client.submit('items', { ...items('se', 'x')[0]!, expiresAt: 'soon' })).rejects.toThrow(
    'expiresAt',
  );
});

test('a bulk action sets when tasks expire, wherever they wait, or that they never do', async () => {
  const plain = (id: string, more: object = {}) => ({ id, payload: { to: 'se', note: id }, ...more });
  await shop.client.submit('items', [
    plain('a'),
    named('b'),
    plain('later', { notBefore: '2098-01-01' }),
    plain('held', { dependsOn: ['a'] }),
    plain('sent', { payload: { to: 'no', note: 'sent' } }),
  ]);
  await cut(shop.pool, ['sent']);
  const update = (expiresAt: string | null) =>
    made(shop.client, { handler: 'items', action: { do: 'update', expiresAt } });
  const shown = async () =>
    (await shop.client.getTasks(['a', 'b', 'later', 'held', 'sent'])).map((one) => one.expiresAt);
  const never = await update(null);
  expect(never).toMatchObject({ total: 1, done: 1, action: { do: 'update', expiresAt: null } });
  expect([await rows(), await update(null)]).toMatchObject([0, { total: 0 }]);
  const at = '2099-03-01T00:00:00.000Z';
  expect(await update(at)).toMatchObject({ total: 4, done: 4, skipped: 0, action: { expiresAt: at } });
  expect(await shown()).toEqual([at, at, at, at, undefined]);
  expect(await update(at)).toMatchObject({ total: 0 });
  // Also where its next look was put off, when it was in a batch.
  await shop.pool.query(`update expiry set expires_at = at, at = clock() + interval '1 hour'`);
  const sooner = '2099-02-01T00:00:00.000Z';
  expect(await update(sooner)).toMatchObject({ done: 4 });
  expect(await shown()).toEqual([sooner, sooner, sooner, sooner, undefined]);
  expect(await pass()).toBe(4);
  expect(await statesOf(shop.client, 'a', 'b', 'later', 'held', 'sent')).toEqual([
    ...['a failed 0', 'b failed 0', 'later failed 0', 'held failed 0', 'sent batched 0'],
  ]);
  await expect(update('2001-01-01')).rejects.toThrow(
    'action.expiresAt: expected a time to come, or null, got "2001-01-01T00:00:00.000Z". To end tasks now, cancel them.',
  );
  await shop.pool.query('update leader set state = 0, expires_at = null, wake_at = null');
  await shop.pool.query(
    `delete from member; delete from batch; delete from dispatch; delete from task where id = 'sent'`,
  );
});

test('while a bulk action changes when a task expires it does not expire', async () => {
  await shop.client.submit('items', [named('a'), named('b')]);
  await shop.pool.query(`update expiry set at = clock() - interval '1 s'`);
  await shop.client.bulk.start({ handler: 'items', action: { do: 'update', expiresAt: null } });
  const tx = await shop.pool.connect();
  try {
    await tx.query('begin');
    await tx.query('select from target for update'); // the action waits for it, amid its step
    const steps = makeSteps(shop.client);
    await eventually(async () => {
      const { rows: waiting } = await shop.pool.query(`
select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
      return waiting.length > 0;
    });
    expect(await expireSome(shop.client, () => undefined)).toBe(0);
    await tx.query('commit');
    await steps;
  } finally {
    tx.release();
  }
  expect(await statesOf(shop.client, 'a', 'b')).toEqual(['a created 0', 'b created 0']);
  expect(await rows()).toBe(0);
});
