import pg from 'pg';
import { plannedMigrations } from '../migrating/migrate';
import type { Pool } from '../pool';

/** Databases of tests, on a server whose superuser a test is. */

const asAdmin = async (serverUrl: string, text: string): Promise<void> => {
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  try {
    await admin.query({ text });
  } finally {
    await admin.end();
  }
};

/** Creates an empty database, and returns its URL. `name`: letters, digits and `_`. */
export const createDatabase = async (serverUrl: string, name: string): Promise<string> => {
  await asAdmin(serverUrl, `create database ${pg.escapeIdentifier(name)}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
};

/** Drops it, with the sessions that are still in it. */
export const dropDatabase = (serverUrl: string, name: string): Promise<void> =>
  asAdmin(serverUrl, `drop database if exists ${pg.escapeIdentifier(name)} with (force)`);

/**
 * Creates Muster's tables in an empty database, as `migrate` does. It runs the plan, as another
 * tool would: the library that `migrate` uses is an ES module, which jest does not load.
 */
export const createTables = async (pool: Pool, databaseUrl: string): Promise<void> => {
  for (const { sql } of await plannedMigrations(databaseUrl, SCHEMA)) await pool.query({ text: sql });
};
const SCHEMA = 'muster';
