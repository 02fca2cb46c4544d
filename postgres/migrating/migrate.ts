import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import {
  DroppedSettingsError,
  isDifferentSchema,
  isLockTimeout,
  isMissingSchema,
  NeedsSessionError,
  SchemaDiffersError,
  SchemaMissingError,
  SchemaNewerError,
  typedError,
} from '../errors';
import { codeOf } from '../sqlState';
import { probeExecutionTables } from '../executions/execution';
import { knownMigrations, MIGRATIONS_DIR } from './files';
import { unknownMigrations } from './name';
import { MIGRATIONS_TABLE, planDown, planUp } from './plan';
import type { PlannedMigration } from './plan';
import type { Queryable } from '../pool';
import { CONNECT_TIMEOUT_MS, DEAD_CLIENTS, KEEP_ALIVE_MS, readUrl, SCHEMA_PATTERN } from '../pool';
import { Session } from '../session';
import { rolesSql } from './roles';

type Log = (line: string) => void;
/** `count`: number of migrations; when undoing, the newest first. */
type What = { direction: 'up' } | { direction: 'down'; count: number };

/**
 * How long a change of a table waits for the statements that use it, while everything that comes
 * later waits behind the change. Then it gives up and is tried again, so that a running
 * installation is never held up for longer.
 */
const LOCK_TIMEOUT_MS = 2_000;
const LOCK_TRIES = 60;
const LOCK_PAUSE_MS = 1_000;

/**
 * Brings the schema up to this program's version; safe to run from many processes at once (advisory
 * lock). Returns what it ran.
 */
export const migrate = async (databaseUrl: string, schema = 'muster', log: Log = () => undefined): Promise<string[]> =>
  withMigrator(databaseUrl, schema, async (client) => {
    await lockMigrations(client, schema, log);
    refuseNewer((await appliedMigrations(client, schema)) ?? []);
    return runMigrations(client, schema, { direction: 'up' }, log);
  });

/**
 * Makes the roles of the database, and grants them what they need on the tables as they are now;
 * may be repeated.
 */
export const grantRoles = async (databaseUrl: string, schema: string, log: Log = () => undefined): Promise<void> =>
  withMigrator(databaseUrl, schema, async (client) => {
    await lockMigrations(client, schema, log);
    await client.query(rolesSql(schema));
  });

/**
 * Undoes the newest migration, or all after `to`. Throws, with nothing undone, if one of them
 * cannot be undone. Returns what it undid.
 */
export const migrateDown = async (
  databaseUrl: string,
  schema: string,
  to?: string,
  log: Log = () => undefined,
): Promise<string[]> =>
  withMigrator(databaseUrl, schema, async (client) => {
    await lockMigrations(client, schema, log);
    const count = planDown(schema, (await appliedMigrations(client, schema)) ?? [], to).length;
    return count === 0 ? [] : runMigrations(client, schema, { direction: 'down', count }, log);
  });

/** Returns what `migrate` would run. Only reads. */
export const plannedMigrations = async (databaseUrl: string, schema: string): Promise<PlannedMigration[]> =>
  withMigrator(databaseUrl, schema, async (client) => {
    const applied = await appliedMigrations(client, schema);
    refuseNewer(applied ?? []);
    return planUp(schema, applied);
  });

/** Returns what `migrateDown` would undo. Only reads. */
export const plannedDown = async (databaseUrl: string, schema: string, to?: string): Promise<PlannedMigration[]> =>
  withMigrator(databaseUrl, schema, async (client) =>
    planDown(schema, (await appliedMigrations(client, schema)) ?? [], to),
  );

const withMigrator = async <T>(
  databaseUrl: string,
  schema: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> => {
  if (!SCHEMA_PATTERN.test(schema))
    throw new Error(`schema: expected a name like "muster", got ${JSON.stringify(schema)}`);
  const { url, isPooler } = readUrl(databaseUrl);
  if (isPooler) throw new NeedsSessionError();
  // Keep-alive notices a server that is gone, and the server a client.
  const client = new Session({
    connectionString: url,
    application_name: 'muster migrate',
    options: OPTIONS,
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
    await client.query(NO_TRANSACTION_LIMIT);
    return await work(client);
  } catch (error) {
    throw typedError(error, true);
  } finally {
    await client.end();
  }
};

/**
 * Lifts the limits that a server, database or role may have set for its applications: an index over
 * a large table may take long.
 */
const NO_LIMITS = '-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c lock_timeout=0';
const OPTIONS = [NO_LIMITS, ...Object.entries(DEAD_CLIENTS).map(([name, value]) => `-c ${name}=${value}`)].join(' ');
/** The same, of Postgres 17 and later; an older one does not know the name. */
const NO_TRANSACTION_LIMIT = "select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'";

/** How often it is tried to lock migrations, and how often who waits says so. */
const ASK_LOCK_MS = 500;
const SAY_WAITS_MS = 10_000;
const LOCK_KEY = "hashtext('muster migrate ' || $1)";

/**
 * Locks migrations: of two processes that start together, the second waits, then finds nothing to
 * do. It says for whom: the session of a machine that is gone may hold the lock for hours.
 */
const lockMigrations = async (client: pg.Client, schema: string, log: Log): Promise<void> => {
  for (let saidAt = performance.now(); ; await sleep(ASK_LOCK_MS)) {
    const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${LOCK_KEY}) as locked`, [
      schema,
    ]);
    if (rows[0]!.locked) return;
    if (performance.now() - saidAt < SAY_WAITS_MS) continue;
    saidAt = performance.now();
    log(
      `Another process migrates; waiting for it (session ${await holderOf(client, schema)} of the server). If that ` +
        'process is gone, end the session: select pg_terminate_backend(PID).',
    );
  }
};

const holderOf = async (client: pg.Client, schema: string): Promise<string> => {
  const { rows } = await client.query<{ pid: number }>(
    `select l.pid
from pg_locks l
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select d.oid from pg_database d where d.datname = current_database())
  and ((l.classid::bigint << 32) | l.objid::bigint) = ${LOCK_KEY}::bigint`,
    [schema],
  );
  return rows[0]?.pid.toString() ?? 'that has just ended';
};

const runMigrations = async (client: pg.Client, schema: string, what: What, log: Log): Promise<string[]> => {
  const { runner } = await import('node-pg-migrate');
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
  const before = (await appliedMigrations(client, schema)) ?? [];
  for (let tries = 1; ; tries++) {
    // What an earlier try has undone is not undone again.
    const done = before.length - ((await appliedMigrations(client, schema)) ?? []).length;
    const left = what.direction === 'down' ? { count: what.count - done } : {};
    try {
      await runner({
        ...what,
        ...left,
        dbClient: client,
        dir: MIGRATIONS_DIR,
        ignorePattern: '(?!.*\\.sql$).*',
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
      return changed(before, (await appliedMigrations(client, schema)) ?? []);
    } catch (error) {
      await client.query('rollback');
      if (!isLockTimeout(error) || tries >= LOCK_TRIES) throw error;
      log(`A table is in use (${codeOf(error)}); trying again.`);
      await sleep(LOCK_PAUSE_MS);
    }
  }
};

/**
 * Returns what was applied or undone between the two lists, in the order in which that happened.
 */
const changed = (before: readonly string[], after: readonly string[]): string[] => [
  ...after.filter((name) => !before.includes(name)),
  ...before.filter((name) => !after.includes(name)).reverse(),
];

/**
 * Throws if this program cannot run on the tables: a worker or client checks this first. Returns
 * applied migrations of newer programs that are compatible.
 */
export const checkSchema = async (db: Queryable): Promise<string[]> => {
  let done: string[];
  try {
    const { rows } = await db.query<{ name: string }>({ text: `select name from ${MIGRATIONS_TABLE} order by name` });
    done = rows.map((row) => row.name);
  } catch (error) {
    if (!isMissingSchema(error)) throw error;
    if (!(await hasOurSettings(db))) throw new DroppedSettingsError(error);
    throw new SchemaMissingError('no tables');
  }
  const newer = refuseNewer(done);
  const missing = knownMigrations().filter((name) => !done.includes(name));
  if (missing.length > 0) throw new SchemaMissingError(`missing ${missing.join(', ')}`);
  await probeExecutionTables(db).catch((error: unknown) => {
    throw isDifferentSchema(error) ? new SchemaDiffersError(error) : error;
  });
  return newer;
};

/** Says whether the session took the settings of its start: a pooler may drop them. */
const hasOurSettings = async (db: Queryable): Promise<boolean> => {
  const { rows } = await db.query<{ scans: string }>({ text: `select current_setting('enable_seqscan') as scans` });
  return rows[0]!.scans === 'off';
};

/** Returns the applied names in order; null: the table of migrations does not exist. */
const appliedMigrations = async (client: pg.Client, schema: string): Promise<string[] | null> => {
  const { rows: found } = await client.query<{ name: string | null }>('select to_regclass($1)::text as name', [
    `"${schema}".${MIGRATIONS_TABLE}`,
  ]);
  if (found[0]?.name == null) return null;
  const { rows } = await client.query<{ name: string }>(
    `select name from "${schema}".${MIGRATIONS_TABLE} order by name`,
  );
  return rows.map((row) => row.name);
};

/**
 * Returns applied migrations that this program does not know and that are compatible with it;
 * throws on others, and on tables that began with another migration.
 */
const refuseNewer = (done: readonly string[]): string[] => {
  const known = knownMigrations();
  const [first] = known;
  if (done.length > 0 && first !== undefined && !done.includes(first))
    throw new SchemaDiffersError(new Error(`its first migration is ${done[0]}, not ${first}`));
  const { compatible, breaking } = unknownMigrations(done, known);
  if (breaking.length > 0) throw new SchemaNewerError(breaking.at(-1)!, known.at(-1) ?? 'nothing');
  return compatible;
};
