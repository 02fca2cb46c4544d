import pg from 'pg';
import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import { migrate } from '../../postgres/migrating/migrate';
import { checkPooler } from '../../workers/doctor/pooler';
import { useEverySystem } from '../connections/everySystem';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, NO_TEMPORAL, postgresUrl } from '../helpers/database';
import { expectWhole } from '../helpers/whole';
import { okay } from '../lanes/downstream';
import type { PgBouncer } from './pgbouncer';
import { findPgBouncer, startPgBouncer } from './pgbouncer';

/** What a real PgBouncer in transaction mode lets through: `npm run test:pooler`. */

const jobs = defineHandler<{ to: string }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 20 },
  submit: async (batch) => okay(batch),
});
const job = (id: string): { id: string; payload: { to: string } } => ({ id, payload: { to: id } });

const started: PgBouncer[] = [];
const start = async (chosen: Parameters<typeof startPgBouncer>[2]): Promise<PgBouncer> => {
  const pooler = await startPgBouncer(findPgBouncer()!, postgresUrl(), chosen);
  started.push(pooler);
  return pooler;
};
let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  await Promise.all(started.map((pooler) => pooler.stop()));
  await database.drop();
});

test('all five systems, over fewer sessions than there are connections', async () => {
  const pooler = await start({ sessions: 4 });
  const through = (url: string): string => `${pooler.through(url)}?pgbouncer=true`;
  expect(await useEverySystem({ max: 8, through })).toEqual([]);
  expect(await pooler.countTransactions()).toBeGreaterThan(100);
});

test('all five systems, over one session for all of them', async () => {
  const pooler = await start({ sessions: 1 });
  const through = (url: string): string => `${pooler.through(url)}?pgbouncer=true`;
  expect(await useEverySystem({ max: 4, through })).toEqual([]);
});

test('submits in transactions of a pool of the caller’s own; nothing stays in a session', async () => {
  const pooler = await start({ sessions: 4 });
  const pool = new pg.Pool({ connectionString: pooler.through(database.url), max: 2 });
  const client = createClient({ databaseUrl: '', pool, handlers: [jobs], temporal: NO_TEMPORAL });
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    const accepted = await client.submit('jobs', [job('in-theirs')], { tx });
    await tx.query('commit');
    await accepted.ring();
    await client.submit(
      'jobs',
      [...Array(60).keys()].map((i) => job(`copied-${i}`)),
    );
    expect((await client.getTasks(['in-theirs', 'copied-59'])).map(({ id }) => id)).toEqual(['in-theirs', 'copied-59']);
    const { rows } = await tx.query(`select current_setting('search_path') as path`);
    expect(rows).toEqual([{ path: '"$user", public' }]);
  } finally {
    tx.release();
    await expectWhole(client);
    await client.close();
    await pool.end();
  }
});

test('temporary tables that another program leaves in the session of the pooler are not taken for ours', async () => {
  const pooler = await start({ sessions: 1 });
  const url = pooler.through(database.url);
  const other = new pg.Client({ connectionString: url });
  const client = createClient({ databaseUrl: `${url}?pgbouncer=true`, handlers: [jobs], temporal: NO_TEMPORAL });
  await other.connect();
  try {
    await other.query('create temporary table task (hostile int); create temporary table queue (hostile int)');
    await client.submit('jobs', job('beside-theirs'));
    expect(await client.getTask('beside-theirs')).toMatchObject({ state: 'created' });
    const { rows } = await other.query(`select to_regclass('pg_temp.task') is not null as stays`);
    expect(rows).toEqual([{ stays: true }]);
  } finally {
    await client.close();
    await other.query('drop table if exists pg_temp.task, pg_temp.queue');
    await other.end();
  }
});

test('muster doctor recognizes it, and says what the address lacks', async () => {
  const pooler = await start({ ignored: 'options' });
  const url = pooler.through(database.url);
  expect(await checkPooler(`${url}?pgbouncer=true`)).toMatchObject({
    state: 'ok',
    says: expect.stringContaining('lends a session per transaction'),
  });
  expect(await checkPooler(url)).toMatchObject({
    state: 'failed',
    remedy: expect.stringContaining('?pgbouncer=true'),
  });
  expect((await checkPooler(database.url)).says).toBe('none in between');
});

test('an address without pgbouncer=true is refused, also where the pooler drops our settings', async () => {
  for (const ignored of ['', 'options']) {
    const pooler = await start({ ignored });
    const client = createClient({ databaseUrl: pooler.through(database.url), handlers: [jobs], temporal: NO_TEMPORAL });
    await expect(client.submit('jobs', job('refused'))).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('add ?pgbouncer=true to the database URL'),
    });
    await client.close();
  }
  const [pooler] = started.slice(-2);
  await expect(migrate(pooler!.through(database.url))).rejects.toMatchObject({
    message: expect.stringContaining('pgbouncer=true'),
  });
});
