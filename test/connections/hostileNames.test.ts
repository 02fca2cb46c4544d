import pg from 'pg';
import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, NO_TEMPORAL } from '../helpers/database';
import { okay } from '../lanes/downstream';
import { useEverySystem } from './everySystem';

/**
 * Other things of our names, where a session would find them first: statements name no schema, so
 * all rests on the path that each session or transaction sets for itself.
 *
 * @slow
 */

/** Statements that make a table for each of ours, which nothing of ours can use. */
const tablesLikeOurs = async (pool: Pool, kind: 'table' | 'temporary table', place: string): Promise<string[]> => {
  const { rows } = await pool.query<{ name: string }>({
    text: `select relname as name from pg_class
      where relnamespace = 'muster'::regnamespace and relkind in ('r', 'p', 'S')`,
  });
  expect(rows.length).toBeGreaterThan(40);
  return rows.map(({ name }) => `create ${kind} ${place}"${name}" (hostile int)`);
};

/** The same for each function, and some functions and operators of Postgres itself. */
const functionsLikeOurs = async (pool: Pool): Promise<string[]> => {
  const { rows } = await pool.query<{ name: string; args: string; result: string }>({
    text: `select p.proname as name, pg_get_function_identity_arguments(p.oid) as args,
        pg_get_function_result(p.oid) as result
      from pg_proc p where p.pronamespace = 'muster'::regnamespace and p.prokind = 'f'`,
  });
  expect(rows.length).toBeGreaterThan(2);
  const theirs = [
    { name: 'now', args: '', result: 'timestamptz' },
    { name: 'hashtext', args: 'text', result: 'integer' },
    { name: 'unnest', args: 'anyarray', result: 'setof anyelement' },
    { name: 'same', args: 'a bigint, b bigint', result: 'boolean' },
  ];
  return [
    ...[...rows.filter(({ result }) => result !== 'trigger'), ...theirs].map(
      ({ name, args, result }) =>
        `create function public."${name}"(${args}) returns ${result} language plpgsql
          as $$ begin raise 'hostile'; end $$`,
    ),
    'create operator public.= (leftarg = bigint, rightarg = bigint, function = public.same)',
    'create operator public.> (leftarg = bigint, rightarg = bigint, function = public.same)',
  ];
};

/** Makes `public` hostile, and the path of the database and of the role lead there first. */
const makeHostile = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ db: string; role: string }>({
    text: 'select current_database() as db, current_user as role',
  });
  const { db, role } = rows[0]!;
  const statements = [...(await tablesLikeOurs(pool, 'table', 'public.')), ...(await functionsLikeOurs(pool))];
  const path = 'set search_path = public, pg_catalog, muster';
  for (const text of [...statements, `alter database ${db} ${path}`, `alter role ${role} in database ${db} ${path}`])
    await pool.query({ text });
};

test('a role and a database whose path leads to other tables, functions and operators first', async () => {
  expect(await useEverySystem({ max: 8, prepare: makeHostile })).toEqual([]);
});

test('the same where each transaction sets its own path', async () => {
  const through = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}pgbouncer=true`;
  expect(await useEverySystem({ max: 8, prepare: makeHostile, through })).toEqual([]);
});

describe('temporary tables of our names, which come before all others unless a path says where', () => {
  let statements: string[];
  const open = (session: pg.PoolClient): void => void session.query(statements.join('; '));

  test.each(['', '?pgbouncer=true'])('in each session of ours, with "%s"', async (flag) => {
    const prepare = async (pool: Pool): Promise<void> => {
      statements = await tablesLikeOurs(pool, 'temporary table', '');
    };
    expect(await useEverySystem({ max: 4, prepare, open, through: (url) => `${url.split('?')[0]}${flag}` })).toEqual(
      [],
    );
  });

  describe('in a transaction of the caller’s', () => {
    const jobs = defineHandler<{ to: string }>({
      name: 'jobs',
      target: ({ to }) => to,
      limits: { maxItems: 20 },
      submit: async (batch) => okay(batch),
    });
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createDatabase();
      statements = await tablesLikeOurs(database.pool, 'temporary table', '');
    });
    afterAll(() => database.drop());

    test('a submit reaches our tables, and the path is theirs again', async () => {
      const pool = new pg.Pool({ connectionString: database.url.split('?')[0], max: 3 });
      const client = createClient({ databaseUrl: '', pool, handlers: [jobs], temporal: NO_TEMPORAL });
      const tx = await pool.connect();
      try {
        await tx.query('begin');
        await tx.query(statements.join('; '));
        await client.submit('jobs', { id: 'theirs', payload: { to: 'a' } }, { tx });
        await tx.query('insert into task (hostile) values (1)'); // their own
        await tx.query('commit');
        expect(await client.getTask('theirs')).toMatchObject({ state: 'created' });
      } finally {
        // Else its end would take so long that the drop of the database meets it.
        await tx.query('discard temp');
        tx.release();
        await client.close();
        await pool.end();
      }
    });
  });
});

test('sessions and transactions have the same path', async () => {
  const database = await createDatabase();
  const url = database.url.split('?')[0]!;
  for (const databaseUrl of [url, `${url}?pgbouncer=true`]) {
    const pool = createPool({ databaseUrl, max: 1, schema: 'muster' });
    const { rows } = await pool.query({ text: `select current_setting('search_path') as path` });
    expect(rows).toEqual([{ path: 'muster, pg_temp' }]);
    await pool.end();
  }
  await database.drop();
});
