import { faultsIn } from '../handlers/build';
import { postgresSink } from '../../handlers/sinks/postgres';
import { buildBatch, buildContext, outcomeOf } from '../examples/helpers';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';

/** The Postgres sink against a real server. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ empty: true });
  await database.pool.query(`create schema shop`);
  await database.pool.query(
    `create table shop."Order" (
       id text primary key,
       total numeric check (total >= 0),
       placed_at timestamptz,
       lines jsonb,
       note text
     )`,
  );
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query('truncate shop."Order"'));

const COLUMNS = ['total', 'placed_at', 'lines', 'note'];
const sink = (more: object = {}) =>
  postgresSink({
    name: 'orders',
    connectionString: database.url,
    table: 'shop.Order',
    idColumn: 'id',
    columns: COLUMNS,
    ...more,
  });
const OK = { kind: 'results', deviants: [] };
const orders = (count: number) => Array.from({ length: count }, (_, n) => ({ total: n, note: `order "${n}" ä` }));
const batchOf = (handler: ReturnType<typeof sink>, payloads: readonly Record<string, unknown>[]) =>
  buildBatch(handler, payloads, (n) => `order'${n}`);
const stored = async () =>
  (await database.pool.query<{ id: string; total: string }>('select * from shop."Order" order by total')).rows;

test('rows of all types are inserted, with the id of their task; the same batch again inserts nothing', async () => {
  const handler = sink();
  const placed_at = '2026-03-01T12:00:00.000Z';
  const rows = [{ total: '12.50', placed_at, lines: [{ sku: 'a' }], note: "it's" }, { total: 13 }];
  const batch = batchOf(handler, rows);
  expect([await outcomeOf(handler, batch), await outcomeOf(handler, batch)]).toEqual([OK, OK]);
  expect(await stored()).toEqual([
    { id: "order'0", total: '12.50', placed_at: new Date(placed_at), lines: [{ sku: 'a' }], note: "it's" },
    { id: "order'1", total: '13', placed_at: null, lines: null, note: null },
  ]);
});

test('a row that violates a constraint rejects the batch, nothing of which is inserted', async () => {
  const handler = sink();
  const outcome = await outcomeOf(handler, batchOf(handler, [...orders(3), { total: -1 }]));
  expect(outcome).toMatchObject({ kind: 'rejected', error: expect.stringContaining('23514') });
  expect(await stored()).toEqual([]);
});

test.each([
  ['a table that is not there', { table: 'shop.absent' }, '42P01'],
  ['a column that is not there', { columns: ['absent'] }, '42703'],
  ['an id column without a unique index', { idColumn: 'note', columns: ['total'] }, '42P10'],
])('%s halts the handler', async (_what, more, code) => {
  const handler = sink(more);
  const payload = 'columns' in more && more.columns[0] === 'absent' ? { absent: 1 } : { total: 1 };
  const outcome = await outcomeOf(handler, batchOf(handler, [payload]));
  expect(outcome).toMatchObject({ kind: 'halted', error: expect.stringContaining(code) });
});

test('a server that is not there is a reason to wait', async () => {
  const handler = sink({ connectionString: 'postgres://localhost:9/db' });
  expect(await outcomeOf(handler, batchOf(handler, orders(1)))).toMatchObject({ kind: 'later' });
});

/** How many statements of the sink are at work or wait. */
const waiting = async () =>
  (
    await database.pool.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where application_name = 'muster-sink' and state = 'active'`,
    )
  ).rows[0]!.n;

test('a call that is aborted at a lock is unknown and holds no connection; sent again, it has one effect', async () => {
  const handler = sink({ maxConnections: 1 });
  const batch = batchOf(handler, orders(5));
  const locker = await database.pool.connect();
  await locker.query('begin');
  await locker.query('lock table shop."Order"');
  const aborted = await outcomeOf(handler, batch, buildContext('key', 300));
  expect(aborted).toMatchObject({ kind: 'unknown', error: expect.stringContaining('aborted') });
  // The one connection is free again: another statement reaches the lock.
  const again = outcomeOf(handler, batch);
  await eventually(async () => (await waiting()) === 2);
  await locker.query('commit');
  locker.release();
  expect(await again).toEqual(OK);
  expect(await stored()).toHaveLength(5);
});

test('a row of another column is refused when it is submitted', () => {
  expect(faultsIn(sink(), { total: 1, totl: 2 })).not.toEqual([]);
});
