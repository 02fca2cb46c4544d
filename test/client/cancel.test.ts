import { finishBatch, lockAttempt } from '../../postgres/calls/settle';
import { eventually } from '../helpers/eventually';
import type { Shop } from './shop';
import { broken, cut, items, openShop, placesOf } from './shop';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({ distinctBy: (item) => item.key ?? `own ${item.note ?? ''}` });
});
afterAll(() => shop.stop());

test('created tasks, ready or waiting for their time, are cancelled; the others are answered as they are [G9]', async () => {
  await shop.client.submit('items', [
    ...items('se', 'a', 'b', 'c', 'd').map((task) => ({ ...task, payload: { ...task.payload, note: task.id } })),
    { id: 'later', payload: { to: 'no' }, notBefore: '2099-01-01' },
  ]);
  await cut(shop.pool, ['b']);
  await cut(shop.pool, ['c'], { state: 4 });
  const answer = await shop.client.cancel(['a', 'nobody', 'b', 'later', 'c', 'a']);
  expect(answer).toEqual({
    cancelled: ['a', 'later'],
    notCancelled: [
      { id: 'nobody', state: 'unknown id' },
      { id: 'b', state: 'batched' },
      { id: 'c', state: 'succeeded' },
    ],
  });
  expect(await shop.client.getTask('a')).toMatchObject({
    state: 'cancelled',
    batch: null,
    attempts: 0,
    finishedAt: expect.any(String) as string,
  });
  expect(await placesOf(shop.pool, 'later')).toEqual(['outcome']);
  expect(await shop.client.cancel('a')).toEqual({ cancelled: [], notCancelled: [{ id: 'a', state: 'cancelled' }] });
  expect((await shop.client.status('items'))[0]).toMatchObject({
    counts: { created: 1, cancelled: 2 },
    identityHolds: true,
  });
});

test('a retried task that waits gives its distinctBy key back, and the next one is rung [G9 H6]', async () => {
  const payload = { to: 'dk', key: 'k1' };
  await shop.client.submit('items', [
    { id: 'first', payload },
    { id: 'second', payload },
  ]);
  // As after a retry: the first waits for its backoff and holds the key; the second cannot go, so
  // nothing but the backoff is due.
  await shop.pool.query({
    text: `
with q as (delete from queue q using task t where t.id = 'first' and q.seq = t.seq returning q.*),
k as (insert into busy_key (target_id, key, seq) select target_id, key, seq from q)
insert into delayed (target_id, priority, seq, not_before, bytes, attempts, key) select target_id, priority, seq, clock() + interval '1 hour', bytes, 1, key from q`,
  });
  await shop.pool.query({ text: `update target set due_at = clock() + interval '1 hour' where key = 'dk'` });
  expect(await shop.client.cancel('first')).toMatchObject({ cancelled: ['first'] });
  expect(await shop.client.getTask('first')).toMatchObject({ state: 'cancelled', attempts: 1 });
  expect((await shop.pool.query({ text: 'select from busy_key' })).rowCount).toBe(0);
  const target = (await shop.client.targets('items')).find((one) => one.key === 'dk');
  expect(target!.dueInMs).toBeLessThan(61_000);
});

test('recipients are told, one message each and target [A17]', async () => {
  const told = { workflowId: 'w-1' };
  await shop.client.submit('items', [
    { id: 'i1', payload: { to: 'fi', note: '1' }, callback: told },
    { id: 'i2', payload: { to: 'fi', note: '2' }, callback: told },
    { id: 'i3', payload: { to: 'is', note: '3' }, callback: told },
    { id: 'i4', payload: { to: 'is', note: '4' } },
  ]);
  await shop.client.cancel(['i1', 'i2', 'i3', 'i4']);
  const { rows } = await shop.pool.query<{ body: { target: string; tasks: object[] } }>({
    text: 'select n.body, n.batch_id, n.done_at, n.next_at <= clock() as due from notification n order by n.body->>$1',
    values: ['target'],
  });
  const end = { state: 'cancelled' };
  expect(rows).toEqual([
    {
      batch_id: null,
      done_at: null,
      due: true,
      body: {
        handler: 'items',
        target: 'fi',
        batch: null,
        tasks: [
          { id: 'i1', ...end },
          { id: 'i2', ...end },
        ],
      },
    },
    {
      batch_id: null,
      done_at: null,
      due: true,
      body: { handler: 'items', target: 'is', batch: null, tasks: [{ id: 'i3', ...end }] },
    },
  ]);
});

test('more than a transaction takes, and bad ids', async () => {
  const ids = Array.from({ length: 2_500 }, (_, i) => `many-${i}`);
  await shop.client.submit(
    'items',
    ids.map((id) => ({ id, payload: { to: 'many', note: id } })),
  );
  expect((await shop.client.cancel(ids)).cancelled).toEqual(ids);
  expect(await shop.client.cancel([])).toEqual({ cancelled: [], notCancelled: [] });
  await expect(shop.client.cancel(['x', 7 as never])).rejects.toThrow(
    'ids[1]: expected a non-empty string without NUL, got 7.',
  );
  await expect(shop.client.cancel(undefined as never)).rejects.toThrow(
    'ids: expected a task id or a list of them, got nothing.',
  );
});

test('a cancel waits for the claim that holds its target, and then finds the task gone', async () => {
  await shop.client.submit('items', items('race', 'r1'));
  const claim = await shop.pool.connect();
  await claim.query('begin');
  await claim.query(`select from target where key = 'race' for no key update`);
  const cancelling = shop.client.cancel('r1');
  await eventually(
    async () =>
      (
        await shop.pool.query({
          text: `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'select from target%'`,
        })
      ).rowCount,
    { what: 'the cancel to wait for the lock' },
  );
  await claim.query(`with q as (delete from queue q using task t where t.id = 'r1' and q.seq = t.seq returning q.seq, q.target_id),
    b as (insert into batch (target_id, leader_id, epoch, turn, dispatch, state, reason, n, members, bytes, weight, created_at)
      select q.target_id, t.leader_id, 1, 1, 1, 1, 3, 1, array[q.seq], 1, 1, clock() from q join target t on t.id = q.target_id returning id),
    k as (insert into busy_key (target_id, key, seq) select q.target_id, t.key, q.seq from q join task t using (seq))
    insert into member (seq, batch_id, attempts) select q.seq, b.id, 0 from q, b`);
  await claim.query('commit');
  claim.release();
  expect(await cancelling).toEqual({ cancelled: [], notCancelled: [{ id: 'r1', state: 'batched' }] });
  expect(await placesOf(shop.pool, 'r1')).toEqual(['member']);
});

test('the cancel of an accepted batch waits for its settlement, and then finds that it has ended', async () => {
  const accepting = await openShop({
    status: async (references) => references.map((reference) => ({ reference, status: 'pending' as const })),
    results: () => [],
    cancel: async () => undefined,
  });
  try {
    const { client, pool } = accepting;
    await client.submit('items', items('desk', 'd1'));
    const batch = await cut(pool, ['d1'], { attempt: 1, dispatch: null });
    await pool.query(`update batch set reference = 'r1', poll_at = clock() + interval '1 hour'`);
    const settlement = await pool.connect();
    await settlement.query('begin');
    expect(await lockAttempt(settlement, batch, 1)).toMatchObject({ reference: 'r1' });
    await finishBatch(settlement, batch, 4, true, 0, null);
    let answer: unknown;
    const cancelling = client.cancelBatch(batch).then(
      (cancelled) => (answer = cancelled),
      (error: unknown) => (answer = error),
    );
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await eventually(async () => answer !== undefined || (await pool.query(waiting)).rowCount === 1);
    await settlement.query('commit');
    settlement.release();
    expect(await cancelling).toMatchObject({ code: 'NOT_CANCELLABLE', batch, status: 'succeeded' });
    expect((await pool.query('select from cancellation')).rowCount).toBe(0);
  } finally {
    await accepting.stop();
  }
});

test('the store is whole after all this', async () => {
  const found = Object.keys(await broken(shop.client));
  // `cut` takes no keys.
  expect(found.filter((name) => name !== 'a live task holds its distinctBy key')).toEqual([]);
});
