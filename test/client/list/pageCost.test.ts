import { halveToTime, walkBeforeTime, WALKED, walkToTime } from '../../../postgres/listing/accepted';
import * as byTime from '../../../postgres/listing/byTime';
import { inOrder } from '../../../postgres/listing/inOrder';
import { listOutcomes } from '../../../postgres/listing/ended';
import { listTagged, listTaggedOfAll } from '../../../postgres/listing/tagged';
import { listLaneTasks } from '../../../postgres/listing/waiting';
import { readBatchMembers } from '../../../postgres/operations/batchView';
import type { Client, Pool, Queryable } from '../../../postgres/pool';
import type { Shop } from '../shop';
import { cut, itemHandler, items, openShop } from '../shop';
import { createClient } from '../../../client';
import { acceptedIn } from '../../../client/tasks/list/accepted';
import type { Place } from '../../../client/tasks/list/sources';
import { SOURCES } from '../../../client/tasks/list/sources';
import { NO_TEMPORAL } from '../../helpers/database';

/** What a page reads of its indexes, by Postgres's own account, among many other tasks. @slow */

const TASKS = 20_000;
const TARGETS = 40;

let shop: Shop;
let handlerId: number;
beforeAll(async () => {
  shop = await openShop();
  const handlers = [shop.handler, itemHandler({ name: 'others' })];
  const client = createClient({ databaseUrl: shop.database.url, prefix: 'costs', handlers, temporal: NO_TEMPORAL });
  for (const { name } of handlers)
    for (let i = 0; i < TARGETS; i++) await client.submit(name, items(`t${i}`, `${name}-first-${i}`));
  await client.close();
  await shop.pool.query(`
with filled as (
  insert into task (seq, created_at, target_id, bytes, id, payload)
  select (1000000 + g)::bigint * 16384, clock() - (${TASKS} - g) * interval '1 s', t.id, 2, 'filled-' || g, '{}'
  from generate_series(1, ${TASKS}) g join (
    select t.id, row_number() over (order by t.id) as n from target t) t on t.n = 1 + g % ${2 * TARGETS}
  returning seq, target_id),
queued as (
  insert into queue (target_id, priority, seq, ready_at, bytes)
  select target_id, 0, seq, clock(), 2 from filled)
insert into task_tag (tag, handler_id, seq)
select 'all', t.handler_id, f.seq from filled f join target t on t.id = f.target_id`);
  await shop.pool.query(`
insert into delayed (target_id, seq, not_before, bytes)
select 1, (2000000 + g)::bigint * 16384, clock() + g * interval '1 minute', 2 from generate_series(1, ${TASKS}) g`);
  await shop.pool.query(`
insert into held (seq, target_id)
select (3000000 + g)::bigint * 16384, 1 + (g % 3) / 2 * (g % ${TARGETS}) from generate_series(1, ${TASKS}) g`);
  await fillLane();
  await shop.client.submit('items', items('t0', ...Array.from({ length: 100 }, (_, i) => `member-${i}`)));
  await cut(
    shop.pool,
    Array.from({ length: 100 }, (_, i) => `member-${i}`),
    { state: 4 },
  );
  const { rows } = await shop.pool.query<{ id: number }>(`select id from handler where name = 'items'`);
  handlerId = rows[0]!.id;
}, 120_000);
afterAll(() => shop.stop());

/** A lane of the handler with many tasks that wait in it. */
const fillLane = (): Promise<unknown> =>
  shop.pool.query(`
with made as (
  insert into lane (service, handler_id, kind, approach, on_invalid, pending_limit)
  select 'long', id, 1, 1, 1, 100 from handler where name = 'items'
  returning id, handler_id)
insert into lane_queue (lane_id, seq, target_id, ready_at, bytes)
select made.id, g, t.id, clock(), 2 from generate_series(1, ${TASKS}) g, target t, made
where t.handler_id = made.handler_id and t.key = 't0'`);

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
}

interface Plan {
  'QUERY PLAN': { Plan: Node }[];
}

/** Runs the statements of a list, and returns how many rows of each table they read. */
const readsOf = async (list: (pool: Pool) => Promise<unknown>): Promise<Record<string, number>> => {
  const read: Record<string, number> = {};
  const count = (node: Node): void => {
    const table = node['Relation Name'];
    const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
    if (table !== undefined) read[table] = (read[table] ?? 0) + rows;
    if (table !== 'handler') expect(node['Node Type']).not.toBe('Seq Scan');
    for (const one of node.Plans ?? []) count(one);
  };
  const connect = async (): Promise<Client> => {
    const client = await shop.pool.connect();
    const query = async (asked: string | { text: string; values: unknown[] }) => {
      if (typeof asked === 'string') return client.query(asked);
      const { text, values } = asked;
      const { rows } = await client.query<Plan>({ text: `explain (analyze, format json) ${text}`, values });
      count(rows[0]!['QUERY PLAN'][0]!.Plan);
      return { rows: [] };
    };
    return { query, release: () => client.release() } as unknown as Client;
  };
  await list({ connect } as unknown as Pool);
  return read;
};

/** The same of one statement. */
const reads = (run: (db: Queryable) => Promise<unknown>): Promise<Record<string, number>> =>
  readsOf((pool) => inOrder(pool, run));

const NEWEST = Number.MAX_SAFE_INTEGER;
const MIDDLE = 1_010_000 * 16_384;

/** What the planner knows: all, or what autovacuum found that came when the tables were empty. */
const STATISTICS = [
  ['as they are', 'analyze task; analyze task_tag; analyze queue; analyze delayed; analyze held; analyze target'],
  [
    'when they were empty',
    `update pg_class set relpages = 1000, reltuples = 0
where oid = any(array['task', 'task_tag', 'queue', 'delayed', 'held']::regclass[])`,
  ],
] as const;

describe.each(STATISTICS)('by statistics of the tables %s', (_, statistics) => {
  beforeAll(async () => {
    await shop.pool.query(statistics);
  });

  test.each([NEWEST, MIDDLE])('a page by tag before %d reads its tasks only', async (place) => {
    const scope = { handlerId, target: null };
    const page = await reads((db) => listTagged(db, 'all', scope, place, 100));
    expect(page['task_tag']).toBe(100);
    expect(page['task']).toBe(100);
    const all = await reads((db) => listTaggedOfAll(db, 'all', { handlerId: null, target: null }, place, 100));
    expect(all['task_tag']).toBe(200); // of each handler a page
    expect(all['task']).toBe(100);
  });

  test.each([
    ['newest', byTime.listWaitingBefore, NEWEST],
    ['newest of the rest', byTime.listWaitingBefore, MIDDLE],
    ['oldest', byTime.listWaitingAfter, 0],
    ['oldest of the rest', byTime.listWaitingAfter, MIDDLE],
  ] as const)(
    'a page of waiting tasks, %s first, looks at the heads of targets and reads no more than a page of each',
    async (_, list, place) => {
      const scope = { handlerId, target: null };
      const page = await reads((db) =>
        list(db, scope, place, { queued: 100, looked: 1_000, end: list === byTime.listWaitingBefore ? 0 : NEWEST }),
      );
      // Per target: its first priority, that there is no other, the head of its list; then a page.
      expect(page['queue']).toBeLessThanOrEqual(TARGETS * 3 + TARGETS * 100);
      // Nothing beside comes before the page ends: of the last page no more than a look.
      expect(page['delayed'] ?? 0).toBeLessThanOrEqual(place === 0 || place === MIDDLE ? 0 : 1_000);
      expect(page['task']).toBeUndefined();
    },
  );

  test('where the tasks of a time begin and end is found by few looks', async () => {
    const middle = Date.now() - (TASKS / 2) * 1_000;
    const minute = 60_000;
    const near = (ms: number): Promise<number> => inOrder(shop.pool, (db) => halveToTime(db, ms));
    const places = [await near(middle - minute), await near(middle + minute)] as const;
    // No row comes back: the statements are explained.
    const halved = await reads((db) => halveToTime(db, middle).catch(() => undefined));
    expect(halved['task']).toBeLessThanOrEqual(1 + 64);
    // What a statement may have drawn late: a task per second.
    const up = await reads((db) => walkToTime(db, middle, places[0]).catch(() => undefined));
    const down = await reads((db) => walkBeforeTime(db, middle, places[1]).catch(() => undefined));
    expect([up['task']! <= 62, down['task']! <= 62]).toEqual([true, true]);
  });

  test.each([
    ['newest', byTime.listWaitingBefore, MIDDLE + 100 * 16_384],
    ['oldest', byTime.listWaitingAfter, MIDDLE - 100 * 16_384],
  ] as const)('a page of waiting tasks, %s first, reads nothing past the end of its range', async (_, list, end) => {
    const scope = { handlerId, target: null };
    const page = await reads((db) => list(db, scope, MIDDLE, { queued: 100, looked: 1_000, end }));
    // Per target no more than that there are its priorities.
    expect(page['queue']).toBeLessThanOrEqual(TARGETS * 2);
    expect([page['delayed'] ?? 0, page['held'] ?? 0]).toEqual([0, 0]);
  });

  test('a page in the middle of a long lane reads what it shows', async () => {
    const scope = { handlerId, target: null };
    const { rows } = await shop.pool.query<{ id: number }>('select id from lane');
    const lane = await reads((db) => listLaneTasks(db, scope, [rows[0]!.id, TASKS / 2], 100));
    expect(lane['lane_queue']).toBe(100);
  });

  test('a page in the middle of what a target has to send, later or held, reads what it shows', async () => {
    const { rows } = await shop.pool.query<{ key: string; held: number; later: number; queued: number }>(`
select t.key,
  (select seq from held where target_id = t.id order by seq offset 5000 limit 1) as held,
  (select (extract(epoch from not_before) * 1000000)::bigint from delayed order by not_before offset 5000 limit 1)
    as later,
  (select seq from queue q where q.target_id = t.id order by seq offset 100 limit 1) as queued
from target t where t.id = 1`);
    const { key, held, later, queued } = rows[0]!;
    const places: Record<string, Place> = { held: [key, held], delayed: [key, later, 0], queued: [key, 0, queued] };
    const scope = { handlerId, target: null, state: null, from: null, until: null };
    for (const source of SOURCES.created.filter(({ name }) => name in places)) {
      const read = await readsOf((pool) => source.read(pool, scope as never, places[source.name]!, 100));
      const table = source.name === 'queued' ? 'queue' : source.name;
      expect([table, read[table]! <= 201]).toEqual([table, true]); // of the next target a page more
    }
  });

  test('the members of a batch are looked up one by one', async () => {
    const { rows } = await shop.pool.query<{ id: number }>('select id from batch limit 1');
    const members = await reads((db) => readBatchMembers(db, rows[0]!.id, 100));
    expect(members['task']).toBe(100);
    expect(members['outcome'] ?? 0).toBe(0);
  });

  test.each([
    ['newest of the rest', byTime.walkWaitingBefore, MIDDLE],
    ['oldest of the rest', byTime.walkWaitingAfter, MIDDLE],
  ] as const)('a page of waiting tasks, %s, that are next to each other reads them alone', async (_, list, place) => {
    const page = await reads((db) =>
      list(db, handlerId, place, { page: 100, looked: 2_000, end: list === byTime.walkWaitingBefore ? 0 : NEWEST }),
    );
    expect(page['task']).toBeLessThanOrEqual(250); // of two handlers in turns
    expect(page['queue']).toBe(100);
  });
});

test('a page of what ended of one target looks that target up once', async () => {
  await shop.pool.query(`
insert into outcome (seq, target_id, state, attempts, at)
select q.seq, q.target_id, 5 /* failed */, 1, clock() - q.seq * interval '1 us' from queue q where q.seq < ${MIDDLE};
analyze outcome; analyze target`);
  const scope = { handlerId, target: 't0', state: 5, sinceUs: 0, error: null };
  const page = await reads((db) => listOutcomes(db, scope, { us: 8e15, id: 0 }, 1_000));
  expect(page['outcome']).toBeLessThanOrEqual(1_001);
  expect(page['target']).toBe(1);
});

/** The last test: it stores tasks that are nowhere but in their table. */
test('where a time begins and ends is exact among thousands of tasks per second', async () => {
  const { pool } = shop;
  const last = (await pool.query<{ seq: number }>('select max(seq) as seq from task')).rows[0]!.seq;
  const begun = Date.parse('2099-01-01T00:00:00Z');
  // A task per millisecond: three walks to each side.
  await pool.query({
    text: `
insert into task
select (jsonb_populate_record(k, jsonb_build_object(
  'seq', $1::bigint + n, 'id', 'copy-' || n, 'created_at', to_timestamp($2::float8 / 1000) + n * interval '1 ms'))).*
from task k, generate_series(1, 120000) n
where k.seq = $1`,
    values: [last, begun],
  });
  const at = (ms: number): Date => new Date(begun + ms);
  expect(120_000 / WALKED).toBeGreaterThan(5);
  expect(await acceptedIn(pool, { since: at(60_000), until: at(60_010) })).toEqual({
    from: last + 60_000,
    to: last + 60_009,
  });
});
