import pg from 'pg';
import { DatabaseUnavailableError, isConnectionError } from './errors';

/** What a statement needs: a pool (each statement its own transaction) or a client inside one. */
export interface Queryable {
  query<R extends pg.QueryResultRow = pg.QueryResultRow>(config: pg.QueryConfig): Promise<pg.QueryResult<R>>;
}
export type Pool = pg.Pool;
export type Client = pg.PoolClient;

export interface PoolOptions {
  databaseUrl: string;
  /** Schema of Muster's tables. Default `muster`. */
  schema?: string;
  /** Most connections. Default 10. */
  max?: number;
  applicationName?: string;
  /** A statement without an answer for so long fails here, and its connection is given up. Default: as long as the server takes. */
  queryTimeoutMs?: number;
}

// int8 as a number: seq = submit_seq * 16384 + i stays below 2^53 for 5e11 submits; batch ids and counts are far smaller.
const INT8 = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8 && format !== 'binary') return Number;
    // arrays of int8
    if (oid === 1016 && format !== 'binary')
      return (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number));
    return pg.types.getTypeParser(oid, format) as (value: string) => unknown;
  }) as pg.CustomTypesConfig['getTypeParser'],
};

export const SCHEMA_PATTERN = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * A pool whose sessions run as the store's protocol needs them (store.md section 5): READ COMMITTED, plans that never prefer a
 * sequential scan (a plan made on an empty table stays), and limits, so that a lock cannot be waited for without end.
 */
export const createPool = (options: PoolOptions): Pool => {
  const schema = options.schema ?? 'muster';
  if (!SCHEMA_PATTERN.test(schema))
    throw new Error(`schema: expected a name like "muster" (a-z, 0-9, _), got ${JSON.stringify(schema)}`);
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: options.max ?? 10,
    application_name: options.applicationName ?? 'muster',
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    ...(options.queryTimeoutMs === undefined ? {} : { query_timeout: options.queryTimeoutMs }),
    types,
    options: [
      `-c search_path=${schema}`,
      '-c default_transaction_isolation=read\\ committed',
      '-c enable_seqscan=off',
      '-c jit=off', // short statements: compiling costs more than it saves
      '-c lock_timeout=10s',
      '-c statement_timeout=60s',
      // A process that is stopped inside a claim holds its handler's row: the others wait for it this long.
      '-c idle_in_transaction_session_timeout=15s',
    ].join(' '),
  });
  // An idle connection that the server closes must not end the process; the next query gets a new one.
  pool.on('error', () => undefined);
  // Nor one that is checked out, between two statements of a transaction: the next statement fails, and says so.
  pool.on('connect', (client) => client.on('error', () => undefined));
  created.set(pool, options);
  return pool;
};

const created = new WeakMap<Pool, PoolOptions>();

/** What a pool of `createPool` was made with: for another like it in another thread. */
export const poolOptions = (pool: Pool): PoolOptions => {
  const options = created.get(pool);
  if (options === undefined) throw new Error('pool: expected one that createPool made, got another');
  return options;
};

/** Runs `work` in one transaction, READ COMMITTED unless `begin` says otherwise; any throw rolls it back. */
export const inTransaction = async <T>(
  pool: Pool,
  work: (client: Client) => Promise<T>,
  begin = 'begin',
): Promise<T> => {
  const client = await connect(pool);
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError;
    });
    throw error;
  } finally {
    client.release(broken);
  }
};

/**
 * Runs `work` on a caller's own client inside the caller's transaction, on our tables, and leaves the session as it was: a savepoint, so that
 * an error leaves nothing of ours behind; our search_path for as long as `work` takes; no prepared names of ours in their session.
 */
export const inCallersTransaction = async <T>(
  tx: Queryable,
  schema: string,
  work: (db: Queryable) => Promise<T>,
): Promise<T> => {
  const db: Queryable = { query: ({ text, values }: pg.QueryConfig) => tx.query({ text, values }) };
  const setPath = (path: string): Promise<unknown> =>
    db.query({ text: `select set_config('search_path', $1, true)`, values: [path] });
  const { rows } = await db.query<{ path: string }>({ text: `select current_setting('search_path') as path` });
  await db.query({ text: 'savepoint muster' });
  try {
    await setPath(schema);
    const result = await work(db);
    await setPath(rows[0]!.path);
    await db.query({ text: 'release savepoint muster' });
    return result;
  } catch (error) {
    await db.query({ text: 'rollback to savepoint muster' }).catch(() => undefined); // a lost connection has rolled back already
    throw error;
  }
};

const connect = async (pool: Pool): Promise<Client> => {
  try {
    return await pool.connect();
  } catch (error) {
    if (isConnectionError(error)) throw new DatabaseUnavailableError(error);
    throw error;
  }
};
