import { readdirSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import {
  isDifferentSchema,
  isMissingSchema,
  NeedsSessionError,
  SchemaDiffersError,
  SchemaMissingError,
  SchemaNewerError,
  typedError,
} from './errors';
import { probeExecutionTables } from './execution';
import type { Queryable } from './pool';
import { CONNECT_TIMEOUT_MS, KEEP_ALIVE_MS, readUrl, SCHEMA_PATTERN } from './pool';
import { Session } from './session';

const MIGRATIONS_DIR = path.join(__dirname, 'migrations');
const MIGRATIONS_TABLE = 'migration';

/** Names of the migrations that this program knows, oldest first. */
export const knownMigrations = (): string[] =>
  readdirSync(MIGRATIONS_DIR)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => path.basename(file, '.sql'))
    .sort();

/** Brings the schema up to this program's version; safe to run from many processes at once (advisory lock). Returns what it ran. */
export const migrate = async (
  databaseUrl: string,
  schema = 'muster',
  log: (line: string) => void = () => undefined,
): Promise<string[]> => {
  if (!SCHEMA_PATTERN.test(schema))
    throw new Error(`schema: expected a name like "muster", got ${JSON.stringify(schema)}`);
  const { url, isPooler } = readUrl(databaseUrl);
  if (isPooler) throw new NeedsSessionError();
  // No limit on its statements: an index over a large table takes what it takes. A server that is gone is noticed by the keep-alive.
  const client = new Session({
    connectionString: url,
    application_name: 'muster migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  client.on('error', () => undefined); // the statement under way says so
  try {
    await client.connect();
  } catch (error) {
    throw typedError(error, false);
  }
  try {
    // Two processes that start together: the second waits, then finds nothing to do.
    await client.query("select pg_advisory_lock(hashtext('muster migrate ' || $1))", [schema]);
    const done = await appliedMigrations(client, schema);
    refuseNewer(done);
    const { runner } = await import('node-pg-migrate');
    const ran = await runner({
      dbClient: client,
      dir: MIGRATIONS_DIR,
      direction: 'up',
      schema,
      createSchema: true,
      migrationsSchema: schema,
      createMigrationsSchema: true,
      migrationsTable: MIGRATIONS_TABLE,
      noLock: true,
      checkOrder: true,
      log,
      logger: { debug: () => undefined, info: log, warn: log, error: log },
    });
    return ran.map((migration) => migration.name);
  } catch (error) {
    throw typedError(error, true);
  } finally {
    await client.end();
  }
};

/** Throws where the tables are not exactly of this program's version: a worker or client checks this before anything else. */
export const checkSchema = async (db: Queryable): Promise<void> => {
  let done: string[];
  try {
    const { rows } = await db.query<{ name: string }>({ text: `select name from ${MIGRATIONS_TABLE} order by name` });
    done = rows.map((row) => row.name);
  } catch (error) {
    if (isMissingSchema(error)) throw new SchemaMissingError('no tables');
    throw error;
  }
  refuseNewer(done);
  const missing = knownMigrations().filter((name) => !done.includes(name));
  if (missing.length > 0) throw new SchemaMissingError(`missing ${missing.join(', ')}`);
  await probeExecutionTables(db).catch((error: unknown) => {
    throw isDifferentSchema(error) ? new SchemaDiffersError(error) : error;
  });
};

const appliedMigrations = async (client: pg.Client, schema: string): Promise<string[]> => {
  const { rows: found } = await client.query<{ name: string | null }>('select to_regclass($1)::text as name', [
    `${schema}.${MIGRATIONS_TABLE}`,
  ]);
  if (found[0]?.name == null) return [];
  const { rows } = await client.query<{ name: string }>(
    `select name from "${schema}".${MIGRATIONS_TABLE} order by name`,
  );
  return rows.map((row) => row.name);
};

const refuseNewer = (done: readonly string[]): void => {
  const known = knownMigrations();
  const unknown = done.filter((name) => !known.includes(name)).sort();
  if (unknown.length > 0) throw new SchemaNewerError(unknown.at(-1)!, known.at(-1) ?? 'nothing');
};
