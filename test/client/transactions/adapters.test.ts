import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOfPostgresJs } from 'drizzle-orm/postgres-js';
import { sql as drizzleSql } from 'drizzle-orm';
import knexOf from 'knex';
import type { KyselyPlugin } from 'kysely';
import { Kysely, PostgresDialect, sql as kyselySql } from 'kysely';
import pg from 'pg';
import postgres from 'postgres';
import { fromDrizzle, fromKnex, fromKysely, fromPostgresJs } from '../../../client';
import { describeLibrary } from './scenario';

/** Submits in the transactions of other libraries. Prisma and TypeORM: test/libraries. @slow */

describeLibrary('pg itself', (url) => {
  const pool = new pg.Pool({ connectionString: url });
  const transact = async <T>(work: (of: never) => Promise<T>): Promise<T> => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      const result = await work({ tx: client, raw: pool, send: (text: string) => client.query(text) } as never);
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  };
  const alone = { query: (config: pg.QueryConfig) => pool.query(config) };
  return { remedy: 'connect first', transact, outside: () => alone as never, end: () => pool.end() };
});

describeLibrary('Drizzle on pg', (url) => {
  const pool = new pg.Pool({ connectionString: url });
  const db = drizzle(pool);
  return {
    remedy: 'Pass fromDrizzle(tx).',
    transact: (work) =>
      db.transaction((tx) =>
        work({ tx: fromDrizzle(tx), raw: tx, send: async (text) => tx.execute(drizzleSql.raw(text)) }),
      ),
    outside: () => fromDrizzle(db),
    end: () => pool.end(),
  };
});

describeLibrary('Drizzle on Postgres.js', (url) => {
  const sql = postgres(url, { onnotice: () => undefined });
  const db = drizzleOfPostgresJs(sql);
  return {
    remedy: 'Pass fromDrizzle(tx).',
    transact: (work) =>
      db.transaction((tx) =>
        work({ tx: fromDrizzle(tx), raw: tx, send: async (text) => tx.execute(drizzleSql.raw(text)) }),
      ),
    outside: () => fromDrizzle(db),
    end: () => sql.end(),
  };
});

const renaming: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  transformResult: async ({ result }) => ({
    ...result,
    rows: result.rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [`my_${name}`, value])),
    ),
  }),
};
describeLibrary('Kysely, with a plugin that renames columns', (url) => {
  const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) });
  const db = new Kysely<object>({ dialect, plugins: [renaming] });
  return {
    remedy: 'Pass fromKysely(tx).',
    transact: (work) =>
      db
        .transaction()
        .execute((tx) => work({ tx: fromKysely(tx), raw: tx, send: (text) => kyselySql.raw(text).execute(tx) })),
    outside: () => fromKysely(db),
    end: () => db.destroy(),
  };
});

describeLibrary('Knex', (url) => {
  const knex = knexOf({ client: 'pg', connection: url, pool: { min: 0, max: 4 } });
  return {
    remedy: 'Pass fromKnex(tx).',
    transact: (work) =>
      knex.transaction((trx) => work({ tx: fromKnex(trx), raw: trx, send: async (text) => trx.raw(text) })),
    outside: () => fromKnex(knex),
    end: () => knex.destroy(),
  };
});

describeLibrary('Postgres.js', (url) => {
  const sql = postgres(url, { onnotice: () => undefined });
  return {
    remedy: 'Pass fromPostgresJs(tx).',
    transact: (work) =>
      sql.begin((tx) => work({ tx: fromPostgresJs(tx), raw: tx, send: async (text) => tx.unsafe(text) })) as never,
    outside: () => fromPostgresJs(sql),
    end: () => sql.end(),
  };
});
