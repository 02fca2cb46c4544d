import { load } from 'js-yaml';
import pg from 'pg';
import { Registry } from 'prom-client';
import { createClient } from '../../client';
import type { Client } from '../../client';
import type { OldestTransaction } from '../../postgres/operations/oldestTransaction';
import { endOf, holderOf, readOldestTransaction } from '../../postgres/operations/oldestTransaction';
import { transactionsCheck } from '../../workers/doctor/postgres';
import { readOverview } from '../../workers/api/dashboard/reads';
import { StoreMetrics } from '../../workers/metrics/storeMetrics';
import { TransactionAge } from '../../workers/metrics/transactionGauge';
import { isOldTransaction } from '../../workflows/planning/oldTransaction';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, NO_TEMPORAL } from '../helpers/database';
import { evaluate, scrapeOf } from '../incidents/promql';
import { read } from '../project/project';

/**
 * A transaction that is never ended keeps dead rows in the queues: who holds it is seen by the
 * metric, the dashboard and the doctor.
 */

let db: TestDatabase;
let client: Client;
let holder: pg.Client;
beforeAll(async () => {
  db = await createDatabase();
  client = createClient({ databaseUrl: db.url, temporal: NO_TEMPORAL });
});
afterAll(async () => {
  await client.close();
  await db.drop();
});
beforeEach(async () => {
  holder = new pg.Client({ connectionString: db.url, application_name: 'report' });
  await holder.connect();
});
afterEach(() => holder.end());

const pidOf = async (session: pg.Client): Promise<string> =>
  (await session.query<{ pid: string }>('select pg_backend_pid()::text as pid')).rows[0]!.pid;

/** What each place says now: the metric, the dashboard's overview, the store. */
const seen = async (): Promise<{ metric: number; holder: string | null; found: OldestTransaction | null }> => {
  const registry = new Registry();
  await new StoreMetrics(registry, { pool: db.pool }).refresh();
  const metric = scrapeOf(await registry.metrics()).get('muster_oldest_transaction_seconds')![0]!.value;
  const { beside } = await readOverview(client, { tenant: null, handlers: null });
  const found = await readOldestTransaction(db.pool);
  return { metric, holder: beside!.oldestTransaction?.holder ?? null, found };
};

const NONE = { metric: 0, holder: null, found: null };

test.each<[string, string, string]>([
  ['has only read', 'begin isolation level repeatable read', 'select from muster.handler'],
  ['has written', 'begin', 'select pg_current_xact_id()'],
])('a session that %s, until it ends', async (_, begin, statement) => {
  expect(await seen()).toEqual(NONE);
  await holder.query(begin);
  await holder.query(statement);
  const pid = await pidOf(holder);
  const now = await seen();
  expect(now).toEqual({
    metric: expect.any(Number) as number,
    holder: `session ${pid} of postgres (report)`,
    found: {
      ...{ kind: 'session', name: pid, role: 'postgres', application: 'report' },
      ...{ seconds: expect.any(Number) as number, xid: expect.stringMatching(/^\d+$/) as string },
      transactions: expect.any(Number) as number,
    },
  });
  const { rows } = await db.pool.query<{ begun: number }>({
    text: `select extract(epoch from clock_timestamp() - xact_start)::float8 as begun
      from pg_stat_activity where pid = $1`,
    values: [pid],
  });
  expect(now.metric).toBeGreaterThan(0);
  expect(now.metric).toBeLessThanOrEqual(rows[0]!.begun);
  await holder.query('rollback');
  expect(await seen()).toEqual(NONE);
});

test('a prepared transaction, which no session has any more, before a younger session', async () => {
  await holder.query('begin');
  await holder.query('select pg_current_xact_id()');
  await holder.query(`prepare transaction 'it''s forgotten'`);
  await holder.query('begin');
  await holder.query('select pg_current_xact_id()');
  expect((await seen()).holder).toBe("prepared transaction it's forgotten of postgres");
  await holder.query('commit');
  await holder.query(`rollback prepared 'it''s forgotten'`);
  expect(await seen()).toEqual(NONE);
});

test('one that read first and wrote late is older than one that began between', async () => {
  const between = new pg.Client({ connectionString: db.url });
  await between.connect();
  await holder.query('begin isolation level repeatable read');
  await holder.query('select from muster.handler');
  await between.query('begin');
  await between.query('select pg_current_xact_id()');
  await holder.query('select pg_current_xact_id()');
  const { found } = await seen();
  expect(found).toMatchObject({ kind: 'session', name: await pidOf(holder) });
  expect(found!.transactions).toBeGreaterThanOrEqual(2);
  await holder.query('rollback');
  await between.end();
});

test('a transaction of another database keeps nothing here', async () => {
  const other = await createDatabase({ empty: true });
  const aside = new pg.Client({ connectionString: other.url });
  await aside.connect();
  await aside.query('begin');
  await aside.query('select pg_current_xact_id()');
  expect(await seen()).toEqual(NONE);
  await aside.end();
  await other.drop();
});

test('a role without rights sees whose it is, and not since when', async () => {
  await holder.query('begin');
  await holder.query('select pg_current_xact_id()');
  const stranger = new pg.Client({ connectionString: db.url });
  await stranger.connect();
  await stranger.query('begin');
  await stranger.query('create role stranger_of_transactions');
  await stranger.query('grant usage on schema muster to stranger_of_transactions');
  await stranger.query('set local search_path = muster');
  await stranger.query('set local role stranger_of_transactions');
  const found = await readOldestTransaction(stranger);
  await stranger.end();
  expect(found).toMatchObject({ kind: 'session', name: await pidOf(holder), role: 'postgres', seconds: null });
});

test('where its age is hidden, it counts from when the process first saw it', () => {
  let nowMs = 0;
  const age = new TransactionAge(() => nowMs);
  const found = (xid: string, seconds: number | null): OldestTransaction => ({
    ...{ kind: 'session', name: '7', role: 'app', application: null, transactions: 1 },
    ...{ xid, seconds },
  });
  const at = (ms: number, oldest: OldestTransaction | null): number => {
    nowMs = ms;
    return age.of(oldest);
  };
  expect(at(1_000, found('90', null))).toBe(0);
  expect(at(61_000, found('90', null))).toBe(60);
  expect(at(62_000, found('90', 500))).toBe(500);
  expect(at(63_000, found('91', null))).toBe(0);
  expect(at(64_000, null)).toBe(0);
  expect(at(65_000, found('91', null))).toBe(0);
  expect(at(66_000, found('91', -0.1))).toBe(0);
});

const HELD: OldestTransaction = {
  ...{ kind: 'session', name: '7', role: 'app', application: null, seconds: 3_600, xid: '90', transactions: 12 },
};

test.each<[string, Partial<OldestTransaction>, string, string]>([
  ['a session', { application: 'psql' }, 'session 7 of app (psql)', 'pg_terminate_backend(7)'],
  ['a session without a name', {}, 'session 7 of app', 'pg_terminate_backend(7)'],
  ['prepared', { kind: 'prepared', name: "a'b" }, "prepared transaction a'b of app", "rollback prepared 'a''b'"],
  ['a slot', { kind: 'slot', name: 's', role: null }, 'replication slot s', "pg_drop_replication_slot('s')"],
])('%s is named, with what ends it', (_, more, who, end) => {
  expect(holderOf({ ...HELD, ...more })).toBe(who);
  expect(endOf({ ...HELD, ...more })).toContain(end);
});

test.each<[number | null, number, boolean]>([
  [3_599, 5_000_000, false],
  [3_600, 0, true],
  [null, 999_999, false],
  [null, 1_000_000, true],
])('of %p s and %p transactions: old %p, for the doctor as for the alert', (seconds, transactions, old) => {
  expect(isOldTransaction(seconds, transactions)).toBe(old);
  const check = transactionsCheck({ ...HELD, seconds, transactions });
  expect(check.state).toBe(old ? 'warning' : 'ok');
  if (seconds === null) return;
  const now = scrapeOf(`muster_oldest_transaction_seconds ${seconds + 1}`);
  expect(evaluate(RULE, now, now)).toHaveLength(seconds + 1 > 3_600 ? 1 : 0);
});

test('the doctor says that none is open', () => {
  expect(transactionsCheck(null)).toEqual({ name: 'transactions', state: 'ok', says: 'none is open', remedy: null });
});

interface Rules {
  groups: { rules: { alert: string; expr: string }[] }[];
}
const RULE = (load(read('deploy/prometheus/muster.rules.yml')) as Rules).groups
  .flatMap(({ rules }) => rules)
  .find(({ alert }) => alert === 'MusterOldTransaction')!.expr;
