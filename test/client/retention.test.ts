import { createClient } from '../../client';
import { deleteLostLabels } from '../../postgres/sweeper/expired';
import { Retention } from '../../postgres/sweeper/retention';
import { TASK_STATES } from '../../workflows/planning/states';
import { NO_TEMPORAL } from '../helpers/database';
import type { Shop } from './shop';
import { broken, cut, endAlone, itemHandler, items, openShop } from './shop';

/** @slow */

const HOUR = 3_600_000;
let shop: Shop;
beforeEach(async () => {
  shop = await openShop({ retentionMs: HOUR });
});
afterEach(async () => {
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

const run = (text: string, values: unknown[] = []): Promise<unknown> => shop.pool.query({ text, values });
const there = async (): Promise<string[]> =>
  (await shop.pool.query<{ id: string }>({ text: 'select id from task order by id' })).rows.map((row) => row.id);
const rowsOf = async (table: 'batch' | 'member' | 'result_page' | 'outcome' | 'notification'): Promise<number> =>
  (await shop.pool.query({ text: `select from ${table}` })).rowCount!;
const done = (ids: string[], ageMs: number): Promise<number> =>
  cut(shop.pool, ids, { state: 4, finishedAgoMs: ageMs, results: [[0, 1]] });

test('terminal batches and tasks go after their time, and nothing younger; the ids are free again', async () => {
  await shop.client.submit('items', items('se', 'old1', 'old2', 'young', 'failed', 'dead', 'cancelled', 'waits'));
  await done(['old1', 'old2'], 2 * HOUR);
  await done(['young'], HOUR / 2);
  await cut(shop.pool, ['failed'], { state: 5, finishedAgoMs: 2 * HOUR });
  const of = await done(['dead'], HOUR / 2);
  await endAlone(shop.pool, 'dead', TASK_STATES.dead, 'x');
  await shop.client.cancel('cancelled');
  await run(`update outcome set at = clock() - interval '2 hours'`);
  expect(await new Retention().deleteExpired(shop.pool, 1_000)).toBe(5);
  expect(await there()).toEqual(['waits', 'young']);
  expect(await shop.client.batch(of)).toMatchObject({ state: 'dissolved' }); // half an hour old, evidence is kept
  expect(await rowsOf('outcome')).toBe(0);
  expect(await rowsOf('result_page')).toBe(2);
  expect(await shop.client.submit('items', { id: 'old1', payload: { to: 'no' } })).toMatchObject({
    accepted: 1,
    repeated: 0,
  });
  expect(await shop.client.getTask('old1')).toMatchObject({ state: 'created', target: 'no' });
  expect(await new Retention().deleteExpired(shop.pool, 1_000)).toBe(0);
});

test('a task that cannot be deleted now keeps no other handler from its turn', async () => {
  const other = itemHandler({ name: 'others', retentionMs: HOUR });
  const client = createClient({ databaseUrl: shop.database.url, handlers: [other], temporal: NO_TEMPORAL });
  await shop.client.submit('items', items('se', 'needed'));
  await client.submit('others', items('se', 'free'));
  await client.close();
  for (const id of ['needed', 'free']) await done([id], 2 * HOUR);
  const [caller, sweeper] = [await shop.pool.connect(), await shop.pool.connect()];
  await caller.query('begin');
  await caller.query(`select from task where id = 'needed' for key share`);
  await sweeper.query(`set lock_timeout = '50ms'`);
  const retention = new Retention();
  try {
    for (let n = 0; n < 2; n++) await expect(retention.deleteExpired(sweeper, 100)).rejects.toThrow(/lock/);
    expect(await there()).toEqual(['needed']);
  } finally {
    for (const session of [caller, sweeper]) session.release(true);
  }
});

test('a backlog, an unknown batch, and one with members that live on elsewhere stay, however old', async () => {
  await shop.client.submit('items', items('se', 'waits', 'parked', 'open', 'ok', 'retried', 'part', 'alone'));
  await run(`update task set created_at = clock() - interval '1 year'`);
  await run(`update queue set ready_at = clock() - interval '1 year'`);
  await shop.client.flush('items');
  await cut(shop.pool, ['parked'], { state: 3 });
  await cut(shop.pool, ['open'], { attempt: 1 });
  const batch = await done(['ok', 'retried'], 2 * HOUR);
  await run(
    `with m as (delete from member where seq = (select seq from task where id = 'retried') returning seq), b as (update batch set n_left = 1 where id = $1)
    insert into delayed (target_id, seq, not_before, bytes)
      select t.target_id, t.seq, clock() + interval '1 day', t.bytes from m join task t using (seq)`,
    [batch],
  );
  const whole = await done(['part', 'alone'], 2 * HOUR);
  await endAlone(shop.pool, 'alone', TASK_STATES.failed, 'x');
  const part = await cutPart(whole, 'part');
  expect(await new Retention().deleteExpired(shop.pool, 1_000)).toBe(0);
  expect(await there()).toHaveLength(7);
  expect(await shop.client.batch(whole)).toMatchObject({ state: 'dissolved', children: [part] });

  // Its members have ended: first the part goes, then the whole.
  await run(`update batch set state = 4, finished_at = clock() - interval '2 hours' where id = $1`, [part]);
  await run(`update outcome set at = clock() - interval '2 hours'`);
  expect(await new Retention().deleteExpired(shop.pool, 1_000)).toBe(2);
  expect(await shop.client.batch(part)).toBeNull();
  expect(await shop.client.batch(whole)).not.toBeNull();
  await new Retention().deleteExpired(shop.pool, 1_000);
  expect(await shop.client.batch(whole)).toBeNull();
  expect(await there()).toEqual(['ok', 'open', 'parked', 'retried', 'waits']);
});

/** The member in a parked batch of its own, as a settlement splits off what is unknown. */
const cutPart = async (parent: number, id: string): Promise<number> => {
  const { rows } = await shop.pool.query<{ id: number }>({
    text: `
with c as (insert into batch (target_id, leader_id, epoch, turn, state, reason, attempt, counted, parent_id, n, members, bytes, weight, created_at, started_at)
  select b.target_id, b.leader_id, 1, 1, 3, 8, 1, 1, b.id, 1, array[t.seq], 1, 1, clock(), clock() from batch b, task t where b.id = $1 and t.id = $2 returning id),
m as (update member set batch_id = c.id from c where seq = (select seq from task where id = $2)),
b as (update batch set n_left = n_left + 1, state = case when n_left + 1 = n then 7 else state end where id = $1)
select id from c`,
    values: [parent, id],
  });
  return rows[0]!.id;
};

test('not before its callbacks are delivered; then they go with it [A17]', async () => {
  await shop.client.submit('items', [
    ...items('se', 'a', 'b', 'c').map((task) => ({ ...task, callback: { workflowId: 'w' } })),
  ]);
  const batch = await done(['a', 'b'], 2 * HOUR);
  await endAlone(shop.pool, 'b', TASK_STATES.failed, 'x');
  await run(`update outcome set at = clock() - interval '2 hours'`);
  await run(
    `insert into notification (batch_id, attempt, recipient_id, body, next_at) select $1, 1, id, '{}', clock() from recipient`,
    [batch],
  );
  await shop.client.cancel('c');
  await run(`update outcome set at = clock() - interval '2 hours'`);
  expect(await new Retention().deleteExpired(shop.pool, 1_000)).toBe(1); // c: its own message says all there is to say
  expect(await there()).toEqual(['a', 'b']);
  expect(await rowsOf('notification')).toBe(2);
  await run(`update notification set done_at = clock() - interval '2 hours', next_at = null`);
  expect(await new Retention().deleteExpired(shop.pool, 1_000)).toBe(2);
  expect(await rowsOf('notification')).toBe(0);
  expect(await rowsOf('batch')).toBe(0);
});

test('bounded chunks, oldest first; a batch larger than the chunk goes whole', async () => {
  const ids = Array.from({ length: 100 }, (_, i) => `t${String(i).padStart(3, '0')}`);
  await shop.client.submit('items', items('se', ...ids));
  for (let i = 0; i < 90; i += 10) await done(ids.slice(i, i + 10), 3 * HOUR - i * 60_000);
  for (const id of ids.slice(90)) {
    await done([id], 2 * HOUR);
    await endAlone(shop.pool, id, TASK_STATES.dead, 'x');
  }
  await run(`update outcome set at = clock() - interval '2 hours'`);
  const retention = new Retention();
  expect(await retention.deleteExpired(shop.pool, 7)).toBe(7); // outcomes first
  expect(await retention.deleteExpired(shop.pool, 25)).toBe(23); // the last three, and two batches of ten
  expect(await there()).toEqual(ids.slice(20, 90));
  expect(await retention.deleteExpired(shop.pool, 5)).toBe(10);
  const sizes: number[] = [];
  for (let n = await retention.deleteExpired(shop.pool, 30); n > 0; n = await retention.deleteExpired(shop.pool, 30))
    sizes.push(n);
  expect(sizes).toEqual([30, 30]);
  await new Retention().deleteExpired(shop.pool, 30);
  expect(await rowsOf('batch')).toBe(0);
  expect(await rowsOf('member')).toBe(0);
});

test('each handler has its own time, and a look begins where the one before ended', async () => {
  const other = itemHandler({ name: 'patient', retentionMs: 100 * HOUR });
  const client = createClient({
    databaseUrl: shop.database.url,
    pool: shop.pool,
    handlers: [other],
    temporal: { client: await shop.client.temporal() },
  });
  await client.submit('patient', items('se', 'kept', 'gone'));
  await done(['kept'], 99 * HOUR);
  await done(['gone'], 101 * HOUR);
  await shop.client.submit('items', items('se', 'a', 'b', 'c'));
  await done(['a'], 50 * HOUR);
  let nowMs = 0;
  const retention = new Retention(() => nowMs);
  expect(await retention.deleteExpired(shop.pool, 100)).toBe(2);
  expect(await there()).toEqual(['b', 'c', 'kept']);
  // Ends as time goes by: found at once.
  await done(['b'], HOUR + 60_000);
  expect(await retention.deleteExpired(shop.pool, 100)).toBe(1);
  // Became free to go after its time had been looked at: found by the next full look, within the
  // hour.
  await done(['c'], 50 * HOUR);
  expect(await retention.deleteExpired(shop.pool, 100)).toBe(0);
  nowMs += HOUR + 1;
  expect(await retention.deleteExpired(shop.pool, 100)).toBe(1);
  expect(await there()).toEqual(['kept']);
});

test('two at a time share the work, and a redrive that holds a task keeps it', async () => {
  const ids = Array.from({ length: 60 }, (_, i) => `t${i}`);
  await shop.client.submit('items', items('se', ...ids));
  for (let i = 0; i < 60; i += 3) await done(ids.slice(i, i + 3), 2 * HOUR);
  await endAlone(shop.pool, 't0', TASK_STATES.dead, 'x');
  await run(`update outcome set at = clock() - interval '2 hours'`);
  const holder = await shop.pool.connect();
  await holder.query('begin');
  await holder.query('select from outcome for update');
  const counts = await Promise.all([
    new Retention().deleteExpired(shop.pool, 1_000),
    new Retention().deleteExpired(shop.pool, 1_000),
  ]);
  await holder.query('rollback');
  holder.release();
  expect(counts[0] + counts[1]).toBe(57); // all but the three of the batch that t0 was in
  expect(await there()).toEqual(['t0', 't1', 't2']);
  expect(await shop.client.redrive('items', { only: 'dead' })).toEqual({ redriven: 1 });
  expect(await new Retention().deleteExpired(shop.pool, 1_000)).toBe(0);
});

test('who was to be told is deleted when no task and no message refers to it, in chunks, and not while a client may still use its id', async () => {
  const recipients = async (): Promise<string[]> =>
    (
      await shop.pool.query<{ id: string }>({ text: `select address->>'workflowId' as id from recipient order by 1` })
    ).rows.map((row) => row.id);
  const told = (id: string, workflowId: string) => ({ id, payload: { to: 'se' }, callback: { workflowId } });
  await shop.client.submit('items', [told('live', 'of-a-task'), told('over', 'unused'), told('said', 'of-a-message')]);
  await run(`delete from queue where seq in (select seq from task where id <> 'live')`);
  await run(
    `insert into notification (recipient_id, body, next_at) select id, '{}', clock() from recipient where address->>'workflowId' = 'of-a-message'`,
  );
  await run(`delete from task where id <> 'live'`);
  await new Retention().deleteExpired(shop.pool, 1_000);
  expect(await recipients()).toEqual(['of-a-message', 'of-a-task', 'unused']);
  await run(`update recipient set used_at = clock() - interval '2 hours'`);
  await run(
    `insert into recipient (kind, address, used_at) select 'workflow', jsonb_build_object('workflowId', 'x-' || i), clock() - interval '3 hours' from generate_series(1, 6000) i`,
  );
  const retention = new Retention();
  await retention.deleteExpired(shop.pool, 1_000);
  expect((await recipients()).length).toBe(1_003);
  await retention.deleteExpired(shop.pool, 1_000);
  expect(await recipients()).toEqual(['of-a-message', 'of-a-task']);
  await run('delete from notification');
});

test('labels of tasks that a version without labels deleted go, a part per call, and those of tasks stay', async () => {
  const labelled = items('se', ...Array.from({ length: 8 }, (_, i) => `t${i}`));
  await shop.client.submit(
    'items',
    labelled.map((task) => ({ ...task, tags: ['nightly', task.id] })),
  );
  await run(`
with gone as (delete from task where id in ('t0', 't3', 't6') returning seq)
delete from queue q using gone g where q.seq = g.seq`);
  expect(Object.keys(await broken(shop.client))).toContain('labels are of a task of their handler');
  const page = { limit: 4 };
  let after: number | null = 0;
  const left: number[] = [];
  while (after !== null) {
    after = await deleteLostLabels(shop.pool, after, page.limit);
    left.push((await shop.pool.query('select from task_tag')).rowCount!);
  }
  expect(left).toEqual([12, 10, 10]);
  expect((await shop.client.tasks.list('items', { tag: 'nightly' })).tasks).toHaveLength(5);

  // The sweeper does it, without a call for it alone.
  await run(`
with gone as (delete from task where id = 't1' returning seq)
delete from queue q using gone g where q.seq = g.seq`);
  await new Retention().deleteExpired(shop.pool, 1_000);
  expect((await shop.pool.query('select from task_tag')).rowCount).toBe(8);
});
