import pg from 'pg';
import { defineHandler } from '../../handlers';
import type { Pool } from '../../postgres/pool';
import { sweepDue, sweepQueued } from '../../postgres/sweeper/sweep';
import { ROUND_MS } from '../../workers/sweeper/sweeper';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { Lateness } from '../helpers/machine/lateness';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { acceptNewer } from './newerTasks';

/** @slow */

const TARGETS = 100_000;
/** One below all of them and one above, in turn. */
const TRIES = rounds(2, 6);
const jobs = defineHandler<{ to: string }>({
  name: 'jobs',
  target: (work) => work.to,
  limits: { maxItems: 100 },
  linger: { lingerMs: 50 },
  submit: async (batch) => ({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([jobs]);
});
afterAll(() => muster.stop());

const query = async <R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> =>
  (await muster.database.pool.query<R>({ text, values })).rows;

/**
 * 100,000 targets with tasks that wait for a linger of an hour, each ring done: nothing is wrong
 * with them.
 */
const fill = async (): Promise<void> => {
  await query(
    `insert into handler (name, leaders, max_items, linger_ms, per_target, per_handler, retention_ms, timeout_ms) values ('slow', 1, 500, 3600000, 1, 8, 1000, 1000)`,
  );
  await query(
    `insert into leader (handler_id, name, state, wake_at, expires_at) select id, '0', 2, clock() + interval '50 minutes', clock() + interval '1 hour' from handler where name = 'slow'`,
  );
  await query(
    `insert into target (handler_id, key, leader_id, due_at)
     select l.handler_id, 'k' || g, l.id, clock() + interval '1 hour'
     from leader l, generate_series(1, ${TARGETS}) g
     where l.state = 2 and l.wake_at > clock() + interval '40 minutes'`,
  );
  await query(
    `insert into queue (target_id, seq, ready_at, bytes)
     select t.id, 10 * t.id + g, clock(), 10 from target t, generate_series(1, 2) g where t.key like 'k%'`,
  );
};

/** Reading of a cycle up to which the promise holds (`Pace`). */
const PROMISED_READ_MS = 1_700;
/**
 * Returns by how much the readings of two cycles, now, take longer than that (ms): the one that has
 * passed a target, and the one that finds it.
 */
const slowReading = async (): Promise<number> => {
  const startedAt = performance.now();
  for (let after: number | null = 0; after !== null;)
    after = (await sweepQueued(muster.database.pool, after, 5_000)).next;
  return 2 * Math.max(0, performance.now() - startedAt - PROMISED_READ_MS);
};

test('with 100,000 targets that have queued tasks, one that nobody rang is found within 5 s, wherever it is and whatever was accepted after it [G14]', async () => {
  await muster.client.submit('jobs', { id: 'early', payload: { to: 'low' } }); // its target's id is below all others
  await fill();
  await muster.client.submit('jobs', { id: 'late', payload: { to: 'high' } });
  const found: number[] = [];
  const lateness = new Lateness(() => query('select 1'));
  for (let i = 0; i < TRIES; i++) {
    const to = i % 2 === 0 ? 'low' : 'high';
    const client = new pg.Client({ connectionString: muster.database.url });
    await client.connect();
    await client.query('begin');
    await muster.client.submit('jobs', { id: `tx-${i}`, payload: { to } }, { tx: client });
    const deleteNewer = await acceptNewer(client, to === 'low' ? 'high' : 'low');
    await new Promise((resolve) => setTimeout(resolve, 170 * i)); // another moment of the cycle each time
    await client.query('commit');
    await client.end();
    const committed = performance.now();
    const { cycles: before } = muster.node.sweepCounts;
    await eventually(async () =>
      (
        await query<{ n: number }>(
          `select count(*) as n from target where key = $1 and due_at is not null union all select count(*) from task_state where id = $2 and state > 0`,
          [to, `tx-${i}`],
        )
      ).some((row) => row.n > 0),
    );
    found.push(Math.round(performance.now() - committed));
    const late = lateness.since(committed);
    expect(found[i]).toBeLessThan(5_000 + late + (found[i]! > 5_000 ? await slowReading() : 0));
    // A cycle begins every 2 to 3.5 s: one may have passed its target, the next one finds it; one
    // more may end until we see it.
    expect(muster.node.sweepCounts.cycles - before).toBeLessThanOrEqual(2);
    await eventually(
      async () =>
        (await query<{ state: number }>('select state from task_state where id = $1', [`tx-${i}`]))[0]!.state === 4,
    );
    await deleteNewer(muster.database.pool);
  }
  await lateness.stop();
  process.stderr.write(`[beside] found after ${found.join(', ')} ms\n`);
  expect(muster.node.sweepCounts.failures).toBe(0);
});

test('cycles begin 2 s apart at least: reading has a part of the time only', async () => {
  const { sweepCounts: counts } = muster.node;
  const { cycles } = counts;
  const from = performance.now();
  await eventually(() => counts.cycles >= cycles + 4, { timeoutMs: 60_000 });
  // From the end of the first of them to that of the fourth, less what their readings differ by.
  expect(performance.now() - from).toBeGreaterThan(3 * ROUND_MS - 500);
});

test('where as many have delayed tasks, one whose time has come and that nobody rang is found within 5 s', async () => {
  await query(
    `insert into delayed (target_id, seq, not_before, bytes)
     select t.id, 10 * t.id + 3, clock() + interval '1 hour', 10 from target t where t.key like 'k%'`,
  );
  const lateness = new Lateness(() => query('select 1'));
  for (const to of ['after-all', 'low']) {
    const client = new pg.Client({ connectionString: muster.database.url });
    await client.connect();
    await client.query('begin');
    const task = { id: `delayed-${to}`, payload: { to }, notBefore: Date.now() + 1_000 };
    await muster.client.submit('jobs', task, { tx: client });
    const deleteNewer = await acceptNewer(client, 'high');
    await client.query('commit');
    await client.end();
    const due = performance.now() + 1_000;
    await eventually(
      async () =>
        (await query<{ state: number }>('select state from task_state where id = $1', [task.id]))[0]!.state === 4,
      { timeoutMs: 120_000 },
    );
    expect(performance.now() - due).toBeLessThan(5_000 + lateness.since(due));
    await deleteNewer(muster.database.pool);
  }
  await lateness.stop();
  expect(muster.node.sweepCounts.failures).toBe(0);
});

test('a page reads no more than it was asked for, whatever is in the queue', async () => {
  const startedAt = performance.now();
  let after: number | null = 0;
  let read = 0;
  let pages = 0;
  while (after !== null) {
    const page = await sweepQueued(muster.database.pool, after, 5_000);
    expect(page.read).toBeLessThanOrEqual(5_000);
    expect(page.forgotten).toEqual([]);
    read += page.read;
    pages++;
    after = page.next;
  }
  process.stderr.write(`[beside] ${read} targets in ${pages} pages: ${Math.round(performance.now() - startedAt)} ms\n`);
  expect(read).toBe(TARGETS);
  const { rows } = await muster.database.pool.query<{
    'QUERY PLAN': string;
  }>(`explain (analyze, buffers, timing off, costs off) select * from (
    with recursive page as ((select q.target_id, 1 as n from queue q where q.target_id > 0 order by q.target_id, q.priority, q.seq limit 1)
    union all select f.target_id, p.n + 1 from page p cross join lateral (
      select q.target_id from queue q where q.target_id > p.target_id
      order by q.target_id, q.priority, q.seq limit 1) f
    where p.n < 1000)
    select count(*) from page) x`);
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).not.toMatch(/Seq Scan|Sort/);
});

test('of delayed tasks, only those that have just become due are read, by their index', async () => {
  const { pool } = muster.database;
  let asked = { text: '', values: [] as unknown[] };
  const noting = {
    query: (one: typeof asked) => {
      asked = one;
      return pool.query(one);
    },
  } as unknown as Pool;
  const { next } = await sweepDue(noting, null, 20_000, 5_000);
  expect(next).toBeNull();
  const { text, values } = asked;
  const plan = await pool.query<{ 'QUERY PLAN': string }>({
    text: `explain (analyze, timing off, costs off, summary off) ${text}`,
    values,
  });
  const lines = plan.rows.map((row) => row['QUERY PLAN']);
  const scan = lines.findIndex((line) => /Index Scan (using|on) delayed_due/.test(line));
  expect(Number(/rows=(\d+)/.exec(lines[scan]!)![1])).toBeLessThan(100);
  expect(lines[scan + 1]).toMatch(/Index Cond: .*ROW\(.*<= /);
  expect(lines.join('\n')).not.toMatch(/Seq Scan on delayed/);
});
