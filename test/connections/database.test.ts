import { defineHandler } from '../../handlers';
import type { Client, ClientOptions } from '../../client';
import { createClient } from '../../client';
import type { Pool } from '../../postgres/pool';
import { createPool, inTransaction } from '../../postgres/pool';
import { inSnapshot } from '../../postgres/snapshot';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import type { Proxy } from '../helpers/proxy';
import { startProxyOf } from '../helpers/proxy';

/** @slow */

interface Work {
  to: string;
}
const jobs = defineHandler<Work>({
  name: 'jobs',
  target: (work) => work.to,
  limits: { maxItems: 1_000 },
  submit: (batch) => Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

/**
 * How long a statement may go without an answer, in these tests; and what a whole call may take
 * then, on a loaded machine.
 */
const ANSWER_MS = 1_000;
const BOUND_MS = 15_000;

let database: TestDatabase;
let proxy: Proxy;
const opened: { client: Client; pool: Pool }[] = [];
beforeAll(async () => {
  database = await createDatabase();
  proxy = await startProxyOf(database.url);
});
afterEach(() => proxy.resume());
afterAll(async () => {
  for (const { client, pool } of opened) {
    await client.close();
    await pool.end();
  }
  await proxy.stop();
  await database.drop();
});

const clientThrough = (options: Partial<ClientOptions> = {}): { client: Client; pool: Pool } => {
  const pool = createPool({ databaseUrl: proxy.through(database.url), max: 4, queryTimeoutMs: ANSWER_MS });
  const client = createClient({
    databaseUrl: database.url,
    handlers: [jobs],
    pool,
    temporal: { address: temporalAddress() },
    prefix: 'connections',
    ...options,
  });
  opened.push({ client, pool });
  return { client, pool };
};
const task = (id: string): { id: string; payload: Work } => ({ id, payload: { to: 'a' } });
const many = (name: string, n: number) => Array.from({ length: n }, (_, i) => task(`${name}-${i}`));
/** Opens connections and lets them rest in the pool. */
const warm = async (pool: Pool, n = 4): Promise<void> => {
  await Promise.all(Array.from({ length: n }, () => pool.query('select pg_sleep(0.1)')));
};
/** Rejected within the bound, with an error of ours that carries none of the driver's fields. */
const failureOf = async (
  work: Promise<unknown>,
  boundMs = BOUND_MS,
): Promise<Error & { code: string; outcome: string }> => {
  const begun = performance.now();
  const ended = await work.then(
    () => null,
    (error: unknown) => error as Error & { code: string; outcome: string },
  );
  expect(performance.now() - begun).toBeLessThan(boundMs);
  if (ended === null) throw new Error('expected it to fail');
  expect(ended).not.toHaveProperty('severity');
  return ended;
};
const stored = async (name: string): Promise<number> =>
  (await database.pool.query<{ n: number }>('select count(*)::int as n from task where id like $1', [`${name}%`]))
    .rows[0]!.n;

test('connections that are half open: a submit fails in time and says what to do, and the next one works', async () => {
  const { client, pool } = clientThrough();
  await client.submit('jobs', task('before'));
  await warm(pool);
  proxy.cut();
  const failure = await failureOf(client.submit('jobs', task('cut')));
  expect(failure.code).toBe('DATABASE_UNAVAILABLE');
  expect(failure.message).toMatch(/^Postgres does not answer: no answer within 1000 ms.* Nothing was accepted\.$/);
  expect(await stored('cut')).toBe(0);
  // All that waited in the pool was half open as well: none of it is tried.
  const begun = performance.now();
  await expect(client.submit('jobs', task('cut'))).resolves.toMatchObject({ accepted: 1 });
  expect(performance.now() - begun).toBeLessThan(BOUND_MS);
});

test('a lost session is found out long before its statement has had its time, one at work is waited for', async () => {
  const pool = createPool({ databaseUrl: proxy.through(database.url), max: 4 }); // 65 s for each statement
  await warm(pool);
  proxy.cut();
  const failure = await failureOf(inTransaction(pool, (tx) => tx.query('select 1')));
  expect(failure).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  // Neither are the others in the pool tried, one by one.
  const begun = performance.now();
  await expect(pool.query('select pg_sleep(7), 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] });
  expect(performance.now() - begun).toBeLessThan(BOUND_MS);
  await pool.end();
});

test('a server that gives no sign to new connections either: a submit is told long before its statement has had its time', async () => {
  const pool = createPool({ databaseUrl: proxy.through(database.url), max: 4 }); // 65 s for each statement
  const { client } = clientThrough({ pool });
  await client.submit('jobs', task('silent-0'));
  await warm(pool);
  proxy.stall();
  // Two questions of 5 s, 5 s apart; half of the statement's time bounds it.
  const failure = await failureOf(client.submit('jobs', task('silent-1')), 32_000);
  expect(failure.code).toBe('DATABASE_UNAVAILABLE');
  expect(failure.message).toMatch(
    /^Postgres does not answer: no answer within \d+ ms\. .*(Nothing was accepted\.|submit again with the same ids)/,
  );
  proxy.resume();
  await client.submit('jobs', task('silent-1'));
  expect(await stored('silent-1')).toBe(1);
  await client.close();
  await pool.end();
});

test('a statement at work is waited for while the server, or somebody before it, refuses new connections', async () => {
  const pool = createPool({ databaseUrl: proxy.through(database.url), max: 4 });
  await warm(pool, 1);
  proxy.refuse();
  // Longer than three questions about it would take.
  await expect(pool.query('select pg_sleep(22), 1 as one')).resolves.toMatchObject({ rows: [{ one: 1 }] });
  proxy.resume();
  await pool.end();
});

test('a COPY is cut off in the middle: the submit fails in time, nothing is there, and the same ids are accepted', async () => {
  const { client } = clientThrough();
  proxy.cutAt('copy task');
  const failure = await failureOf(client.submit('jobs', many('copied', 500)));
  expect(failure).toMatchObject({ code: 'DATABASE_UNAVAILABLE', outcome: 'none' });
  expect(failure.message).toMatch(/Nothing was accepted\.$/);
  await expect(client.submit('jobs', many('copied', 500))).resolves.toMatchObject({ accepted: 500 });
});

test('the answer to a commit is lost: whether it was accepted is unknown, and the same ids are stored once', async () => {
  const { client } = clientThrough();
  await client.submit('jobs', task('warm'));
  proxy.cutAt('commit', 'answers');
  const failure = await failureOf(client.submit('jobs', task('unknown')));
  expect(failure).toMatchObject({ code: 'DATABASE_UNAVAILABLE', outcome: 'unknown' });
  expect(failure.message).toMatch(/It is unknown whether it was accepted: submit again with the same ids/);
  await expect(client.submit('jobs', task('unknown'))).resolves.toMatchObject({ accepted: 0, repeated: 1 });
  expect(await stored('unknown')).toBe(1);
});

test('a server that nobody reaches, or that takes no bytes: typed, in time, and over when it is back', async () => {
  const { client } = clientThrough();
  proxy.refuse();
  expect(await failureOf(client.submit('jobs', task('refused')))).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  proxy.resume();
  await expect(client.submit('jobs', task('refused'))).resolves.toMatchObject({ accepted: 1 });
  proxy.stall();
  expect(await failureOf(client.submit('jobs', task('stalled')))).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  proxy.resume();
  await expect(client.submit('jobs', task('stalled'))).resolves.toMatchObject({ accepted: 1 });
});

test('a connection that is reset between two submits costs none of them', async () => {
  const { client, pool } = clientThrough();
  await client.submit('jobs', task('a'));
  await warm(pool);
  proxy.reset();
  await expect(client.submit('jobs', task('after-reset'))).resolves.toMatchObject({ accepted: 1 });
});

test('the limit is above what the server allows a statement, also where a report allows itself more', async () => {
  const pool = createPool({ databaseUrl: proxy.through(database.url), max: 1, queryTimeoutMs: ANSWER_MS });
  await expect(
    inSnapshot(pool, async (tx) => (await tx.query('select pg_sleep(1.5), 1 as one')).rows),
  ).resolves.toMatchObject([{ one: 1 }]);
  await expect(pool.query('select pg_sleep(30)')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  await pool.end();

  const usual = createPool({ databaseUrl: proxy.through(database.url), max: 1 });
  const { rows } = await usual.query<{ ms: number }>(
    `select extract(epoch from current_setting('statement_timeout')::interval)::float8 * 1000 as ms`,
  );
  expect((usual.options as { answerWithinMs?: number }).answerWithinMs).toBe(rows[0]!.ms + 5_000);
  expect(usual.options).toMatchObject({ keepAlive: true, keepAliveInitialDelayMillis: 10_000 });
  await usual.end();

  // The server itself ends it first: the connection was never in doubt.
  const short = createPool({ databaseUrl: proxy.through(database.url), max: 1, statementTimeoutMs: 300 });
  await expect(short.query('select pg_sleep(30)')).rejects.toMatchObject({ code: 'DATABASE_BUSY', outcome: 'none' });
  await short.end();
});

test('sessions that were opened while the database was read-only are closed, and submits go on when it is not', async () => {
  await database.pool.query(`alter database ${database.name} set default_transaction_read_only = on`);
  const { client, pool } = clientThrough();
  await warm(pool);
  const failure = await failureOf(client.submit('jobs', task('read-only')));
  expect(failure).toMatchObject({ code: 'DATABASE_UNAVAILABLE', outcome: 'none' });
  expect(failure.message).toMatch(
    /^Postgres cannot be written: .*read-only.*MUSTER_DATABASE_URL.* Nothing was accepted\.$/,
  );
  await warm(pool); // all of them read-only again
  await database.pool.query('set default_transaction_read_only = off');
  await database.pool.query(`alter database ${database.name} reset default_transaction_read_only`);
  await expect(client.submit('jobs', task('read-only'))).resolves.toMatchObject({ accepted: 1 });
  await expect(client.submit('jobs', many('read-write', 60))).resolves.toMatchObject({ accepted: 60 });
});

describe('whatever Postgres says', () => {
  /** Each insert into `task` and `fanout` raises this. */
  const raising = async (code: string | null): Promise<void> => {
    await database.pool.query('drop trigger if exists raises on task; drop trigger if exists raises on fanout');
    if (code === null) return;
    await database.pool.query(`create or replace function raises() returns trigger language plpgsql as
      $$ begin raise exception 'as the server would say it' using errcode = '${code}'; end $$`);
    for (const table of ['task', 'fanout'])
      await database.pool.query(
        `create trigger raises before insert on ${table} for each statement execute function raises()`,
      );
  };
  afterAll(() => raising(null));

  test.each([
    ['25006', 'DATABASE_UNAVAILABLE', true],
    ['53300', 'DATABASE_UNAVAILABLE', true],
    ['57P01', 'DATABASE_UNAVAILABLE', true],
    ['57P03', 'DATABASE_UNAVAILABLE', true],
    ['08006', 'DATABASE_UNAVAILABLE', true],
    ['53100', 'DATABASE_UNAVAILABLE', true],
    ['55P03', 'DATABASE_BUSY', true],
    ['40001', 'DATABASE_BUSY', false],
    ['42501', 'DATABASE_ERROR', true],
    ['XX000', 'DATABASE_ERROR', true],
    ['23514', 'DATABASE_ERROR', false],
  ])('%s: code %s, the session is closed: %p', async (sqlState, code, isClosed) => {
    const { client, pool } = clientThrough();
    await client.submit('jobs', task('known-target'));
    await warm(pool, 1);
    await raising(sqlState);
    let closed = 0;
    pool.on('remove', () => closed++);
    for (const tasks of [[task('raised')], many('raised', 60)]) {
      const failure = await failureOf(client.submit('jobs', tasks));
      expect(failure).toMatchObject({ code, outcome: 'none' });
      expect(failure.message).toMatch(/as the server would say it.* Nothing was accepted\.$/);
    }
    expect(closed > 0).toBe(isClosed);
    expect((await failureOf(client.openFanout({}))).message).toMatch(
      /No fan-out was opened\.|It is unknown whether it was opened/,
    );
    await raising(null);
    await expect(client.submit('jobs', task(`after-${sqlState}`))).resolves.toMatchObject({ accepted: 1 });
  });
});

test('a transaction whose own statement broke a constraint keeps its connection', async () => {
  const { pool } = clientThrough();
  await warm(pool, 1);
  let closed = 0;
  pool.on('remove', () => closed++);
  const broken = `insert into handler (name) values (null)`;
  await expect(inTransaction(pool, (tx) => tx.query(broken))).rejects.toMatchObject({ code: '23502' });
  await expect(pool.query(broken)).rejects.toMatchObject({ code: '23502' });
  expect(closed).toBe(0);
});
