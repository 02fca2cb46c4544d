import pino from 'pino';
import type { Client } from '../../../postgres/pool';
import { inTransaction } from '../../../postgres/pool';
import * as unused from '../../../postgres/sweeper/unused';
import { UnusedRows } from '../../../postgres/sweeper/unusedRows';
import { Cleaning } from '../../../workers/sweeper/cleaning';
import { noCounts } from '../../../workers/sweeper/counts';
import { loose, ordered, submit, UnusedStore } from './store';

/** What is deleted, what stays, and how much of the store a page reads. */

let store: UnusedStore;
beforeEach(async () => {
  store = await UnusedStore.open();
});
afterEach(() => store.close());

/** What this session has read and not reported yet: rows, and scans of whole tables. */
const readsOf = async (client: Client): Promise<{ name: string; full: number; read: number }[]> => {
  const { rows } = await client.query<{ name: string; full: number; read: number }>(`
    select relname as name, seq_scan::int as full,
      (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as read
    from pg_stat_xact_user_tables where (seq_scan > 0 or idx_tup_fetch > 0) and relname <> 'ahead'`);
  return rows;
};

const keys = async (): Promise<string[]> => Object.keys(await store.targets()).sort();

/** One task in each place where tasks are, and each setting of an operator, by the target's key. */
const USES: readonly [string, string][] = [
  ['queue', `insert into queue (target_id, seq, ready_at, bytes) values ($1, 1, clock(), 2)`],
  ['delayed', `insert into delayed (target_id, seq, not_before, bytes) values ($1, 2, clock() + interval '9 days', 2)`],
  ['held', `insert into held (seq, target_id) values (3, $1)`],
  ['busy_key', `insert into busy_key (target_id, key, seq) values ($1, 'k', 4)`],
  ['outcome', `insert into outcome (seq, target_id, state, attempts, at) values (5, $1, 4, 1, clock())`],
  [
    'batch',
    `insert into batch (target_id, leader_id, epoch, turn, reason, n, members, bytes, weight, created_at)
     values ($1, 1, 1, 1, 0, 1, '{6}', 2, 1, clock())`,
  ],
  ['paused', `update target set paused = true, paused_at = clock() where id = $1`],
  ['overrides', `update target set overrides = '{"maxItems":3}' where id = $1`],
  ['limits', `update target set limits = '{"concurrency.perTarget":{"value":1}}' where id = $1`],
  ['held back', `update target set hold_until = clock() + interval '9 days' where id = $1`],
  ['paced', `update target set paces = array[extract(epoch from clock() + interval '9 days') * 1000] where id = $1`],
  ['due', `update target set due_at = clock() + interval '9 days' where id = $1`],
];

test('a target stays while a row refers to it, or an operator set something; all others go', async () => {
  const process = store.process();
  for (const [name] of [...USES, ['idle'], ['waited'], ['slowed']]) await submit(process, loose, name!, [name!]);
  await store.forgetTasks();
  const ids = await store.targets();
  for (const [name, text] of USES) await store.query(text, [ids[name]]);
  await store.query(`update target set hold_until = clock(), paces = '{1,2}' where key = 'waited'`);
  await store.query(`update target set allowed = 1, reductions = 7, flush_seq = 1 where key = 'slowed'`);
  expect(await store.sweep()).toMatchObject({ targets: 3, lanes: 0 });
  expect(await keys()).toEqual(USES.map(([name]) => name).sort());
});

test('each table that names targets is looked at', async () => {
  const rows = await store.query<{ table: string }>(`
    select c.relname as table from pg_attribute a join pg_class c on c.oid = a.attrelid
    where a.attname = 'target_id' and c.relkind = 'r' and c.relnamespace = 'muster'::regnamespace order by 1`);
  const tables = rows.map(({ table }) => table);
  const looked = [...USES.map(([name]) => name), 'lane_queue', 'lane_batch'];
  // A task is always in one of the other places too: `verify` says so.
  expect(tables.filter((table) => !looked.includes(table))).toEqual(['task']);
});

test('nothing goes within a day, and a mark goes when the target is used again', async () => {
  const process = store.process();
  await submit(process, loose, 'a', ['first']);
  await store.forgetTasks();
  for (let pass = 0; pass < 30; pass++) expect(await store.pass()).toMatchObject({ targets: 0, lanes: 0 });
  const marked = (): Promise<{ n: number }[]> => store.query('select count(unused_at)::int as n from target');
  expect(await marked()).toEqual([{ n: 1 }]);
  await submit(process, loose, 'a', ['second']);
  await store.pass();
  expect(await marked()).toEqual([{ n: 0 }]);
});

test.each([
  [23, 0],
  [25, 1],
])('one that was marked %i hours ago: %i deleted', async (hours, targets) => {
  await submit(store.process(), loose, 'a', ['first']);
  await store.forgetTasks();
  await store.pass();
  await store.query(`update target set unused_at = server_time() - ${hours} * interval '1 hour'`);
  expect((await store.pass()).targets).toBe(targets);
});

test('rounds of the sweeper do it', async () => {
  await submit(store.process(), ordered, 'a', ['first']);
  await store.forgetTasks();
  await store.query(`insert into leader (handler_id, name) select id, 'gone' from handler`);
  const { pool } = store.database;
  const counts = noCounts();
  const ofSweeper = new Cleaning({ pool, log: pino({ level: 'silent' }) });
  // On a busy machine a round may end after targets, or after lanes: the next one goes on.
  for (let round = 0; round < 3 && counts.deletedLeaders === 0; round++) await ofSweeper.round(counts);
  await ofSweeper.stop();
  expect(counts).toMatchObject({ deletedTargets: 0, deletedLanes: 0, deletedLeaders: 1 });
  const marked = await store.query('select count(*)::int as n from target where unused_at is not null');
  expect(marked).toEqual([{ n: 1 }]);
});

test('the sweeper says when a transaction has kept all of them for more than a day', async () => {
  const said: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => said.push(line) });
  const sweeper = new Cleaning({ pool: store.database.pool, log });
  const round = async (): Promise<void> => {
    (sweeper as unknown as { unused: { passAt: number } }).unused.passAt = -Infinity; // its next pass is due
    await sweeper.round(noCounts());
  };
  const tx = await store.session();
  await tx.query('begin');
  await tx.query('select pg_current_xact_id()');
  await round();
  await store.hoursLater(23);
  await round();
  expect(said).toEqual([]);
  await store.hoursLater(2);
  await round();
  await tx.query('commit');
  await round();
  await sweeper.stop();
  expect(said).toHaveLength(1);
  expect(JSON.parse(said[0]!)).toMatchObject({
    keptForMs: expect.closeTo(25 * 3_600_000, -6) as number,
    msg: expect.stringContaining('backend_xid in pg_stat_activity, and at pg_prepared_xacts') as string,
  });
});

test('lanes go with their last target, and stay while they have work or a setting', async () => {
  const process = store.process();
  const names = ['idle', 'paused', 'heavy', 'halted', 'working'];
  for (const name of names) await submit(process, ordered, name, [name]);
  await store.query(`delete from lane_queue where target_id <> (select id from target where key = 'working')`);
  const set = (assignments: string, of: string): Promise<unknown> =>
    store.query(
      `update lane_state set ${assignments} where lane_id = (select id from lane where service = 'lane of ${of}')`,
    );
  for (const name of names) await set('ready = false', name);
  await set('paused_at = clock()', 'paused');
  await set('weight = 5', 'heavy');
  await set('halted_by = 1, halted_at = clock()', 'halted');
  expect(await store.sweep()).toMatchObject({ targets: 4, lanes: 1 });
  expect(await keys()).toEqual(['working']);
  expect(await store.query('select service from lane order by service')).toEqual(
    ['halted', 'heavy', 'paused', 'working'].map((name) => ({ service: `lane of ${name}` })),
  );
  expect(await store.query('select from lane_state')).toHaveLength(4);
  await submit(process, ordered, 'idle', ['again']);
  expect(await store.query('select from lane')).toHaveLength(5);
});

describe('at scale', () => {
  const MANY = 10_000;
  const fill = async (): Promise<void> => {
    await submit(store.process(), loose, 'first', ['task']);
    await store.query(
      `insert into target (handler_id, key, leader_id, unused_at)
      select 1, 'never used ' || i, 1, server_time() - interval '2 days' from generate_series(1, ${MANY}) i`,
    );
    await store.query(
      `insert into outcome (seq, target_id, state, attempts, at)
      select -i, 1, 4, 1, clock() from generate_series(1, 50000) i`,
    );
    await store.query('analyze');
  };

  test(`${MANY} unused targets go in bounded steps`, async () => {
    await fill();
    let passedMs = 0;
    const rows = new UnusedRows(() => performance.now() + passedMs);
    const { pool } = store.database;
    const steps: number[] = [];
    for (let deleted = 0; deleted < MANY;) {
      // A round of the sweeper, 2 s after the one before.
      passedMs += 2_000;
      const { targets } = await rows.look(pool);
      deleted += targets;
      steps.push(targets);
      if (steps.length === 200) passedMs += 3_600_000; // what the pass before last found out
      expect(steps.length).toBeLessThan(2_000);
    }
    // A page, and as many more as fit into 50 ms.
    expect(Math.max(...steps)).toBeLessThan(MANY);
    expect(await keys()).toEqual(['first']);
  }, 120_000);

  test('a page reads as many rows as it looks at, of small tables and of large ones', async () => {
    await fill();
    const read = await inTransaction(store.database.pool, async (client) => {
      // What filled the tables in the same session may not have been counted elsewhere yet.
      const before = await readsOf(client);
      const page = await unused.markUnusedTargets(client, 0, 100, 0);
      expect(page.read).toBe(100);
      await unused.deleteLockedTargets(client, await unused.lockUnusedTargets(client, [2, 3, 4], 1e15));
      return (await readsOf(client)).map(({ name, full, read: rows }) => {
        const earlier = before.find((one) => one.name === name) ?? { full: 0, read: 0 };
        return { name, full: full - earlier.full, read: rows - earlier.read };
      });
    });
    expect(read.find(({ name }) => name === 'target')!.read).toBeGreaterThanOrEqual(100);
    expect(read.filter(({ full }) => full > 0)).toEqual([]);
    for (const { name, read: n } of read) expect([name, n <= 600]).toEqual([name, true]);
  }, 60_000);
});
