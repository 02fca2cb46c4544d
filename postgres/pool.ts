import pg from 'pg';
import { anotherOf, borrowedFrom } from './borrowed';
import { Doubts } from './doubts';
import { concernsAllSessions, isConnectionError, keepsSession, typedError } from './errors';
import { searchPath, setSearchPath } from './searchPath';
import type { SessionConfig } from './session';
import { Session } from './session';
import { types } from './types';

/**
 * What a statement needs: a pool (each statement is a transaction) or a client inside a
 * transaction.
 */
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
  /** Time limit of a statement, enforced by the server. Default 60 s. */
  statementTimeoutMs?: number;
  /**
   * A statement without an answer for so long fails here, and its connection is given up. Default:
   * 5 s above `statementTimeoutMs`.
   */
  queryTimeoutMs?: number;
}

const STATEMENT_TIMEOUT_MS = 60_000;
/** How long the answer of a statement that the server has ended may take to arrive. */
const ANSWER_MS = 5_000;
/** A silent connection is asked for a sign of life after this, and given up 10 s later. */
export const KEEP_ALIVE_MS = 10_000;
/** Longest wait for a connection attempt, or for a free connection of the pool. */
export const CONNECT_TIMEOUT_MS = 10_000;

export const SCHEMA_PATTERN = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Flag in the URL (`?pgbouncer=true`): a pooler lends sessions out per transaction, so nothing can
 * be kept in one.
 */
const POOLER_FLAG = 'pgbouncer';

interface Created {
  options: PoolOptions;
  /** Behind a pooler, or of a caller's pool: statements that begin each transaction. */
  settings: string | null;
  /** Makes a pool of one connection to the same database. */
  another: () => Pool;
}
/** What is known of a pool, which is a class of `pg`: as weak as a field of it would be. */
const created = new WeakMap<Pool, Created>();

/**
 * Creates a pool whose sessions run as the store's protocol needs them: READ COMMITTED, plans that
 * never prefer a sequential scan (a plan made on an empty table stays), and limits, so that no lock
 * is waited for without end. Its errors are typed.
 */
export const createPool = (options: PoolOptions): Pool => {
  const { schema = 'muster', statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  if (!SCHEMA_PATTERN.test(schema)) throw new Error(wrongSchema(schema));
  const { url, isPooler } = readUrl(options.databaseUrl);
  const settings = sessionSettings(statementTimeoutMs);
  // Behind a pooler the server's sessions are not these.
  const doubts = isPooler ? undefined : new Doubts(url, () => closeIdle(pool, connect));
  const config: pg.PoolConfig & SessionConfig = {
    connectionString: url,
    Client: Session,
    max: options.max ?? 10,
    application_name: options.applicationName ?? 'muster',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    answerWithinMs: options.queryTimeoutMs ?? statementTimeoutMs + ANSWER_MS,
    onDoubt: doubts && ((session) => doubts.add(session)),
    types,
    ...(isPooler
      ? { unnamed: true }
      : {
          options: Object.entries({ search_path: searchPath(schema), ...settings, ...DEAD_CLIENTS })
            .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
            .join(' '),
        }),
  };
  const pool = new pg.Pool(config);
  // An idle connection that the server closes must not end the process; the next query gets a new
  // one.
  pool.on('error', () => undefined);
  // The same for a connection that is checked out, between two statements of a transaction: the
  // next statement fails and reports it.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const connect = adopt(pool, {
    options,
    settings: isPooler ? setLocal(schema, settings) : null,
    another: () => createPool({ ...options, max: 1 }),
  });
  return pool;
};

const adopt = (pool: Pool, known: Created): Connect => {
  created.set(pool, known);
  const connect = pool.connect.bind(pool);
  pool.query = ((...args: unknown[]) => runAlone(pool, connect, args)) as typeof pool.query;
  return connect;
};

/**
 * Returns a caller's pool as the store's protocol needs it: nothing is set in its sessions but by
 * each transaction for itself, nothing is prepared under a name, and numbers are numbers. A pool
 * of `createPool` is returned as it is. `databaseUrl`: for a pool like it in another thread.
 */
export const borrowPool = (pool: pg.Pool, schema: string, databaseUrl = ''): Pool => {
  if (created.has(pool)) return pool;
  if (!SCHEMA_PATTERN.test(schema)) throw new Error(wrongSchema(schema));
  const borrowed = borrowedFrom(pool);
  adopt(borrowed, {
    options: { databaseUrl, schema },
    settings: setLocal(schema, sessionSettings(STATEMENT_TIMEOUT_MS)),
    another: () => borrowPool(anotherOf(pool), schema, databaseUrl),
  });
  return borrowed;
};

/**
 * Returns a new pool of one connection to the same database: for what must not wait for a
 * connection of `pool`, whose holders wait for it.
 */
export const poolBeside = (pool: Pool): Pool => knownOf(pool).another();

const knownOf = (pool: Pool): Created => {
  const known = created.get(pool);
  if (known === undefined) throw new Error('pool: expected one that createPool made, got another');
  return known;
};

const wrongSchema = (schema: string): string =>
  `schema: expected a name like "muster" (a-z, 0-9, _), got ${JSON.stringify(schema)}`;

const sessionSettings = (statementTimeoutMs: number): Readonly<Record<string, string>> => ({
  // What the driver reads: of another style a time is null.
  datestyle: 'ISO',
  extra_float_digits: '1',
  default_transaction_isolation: 'read committed',
  enable_seqscan: 'off',
  jit: 'off', // short statements: compiling costs more than it saves
  lock_timeout: '10s',
  statement_timeout: `${statementTimeoutMs}ms`,
  // A process that is stopped inside a claim holds its handler's row: the others wait for it this
  // long.
  idle_in_transaction_session_timeout: '15s',
});

/**
 * Makes the server, too, check whether this process is alive: sessions of a process that is cut off
 * would use up connections for hours.
 */
export const DEAD_CLIENTS = { tcp_keepalives_idle: '30', tcp_keepalives_interval: '10', tcp_keepalives_count: '3' };

const setLocal = (schema: string, settings: Readonly<Record<string, string>>): string =>
  [setSearchPath(schema), ...Object.entries(settings).map(([name, value]) => `set local ${name} = '${value}'`)].join(
    '; ',
  );

export const readUrl = (databaseUrl: string): { url: string; isPooler: boolean } => {
  if (!URL.canParse(databaseUrl)) return { url: databaseUrl, isPooler: false };
  const url = new URL(databaseUrl);
  if (!url.searchParams.has(POOLER_FLAG)) return { url: databaseUrl, isPooler: false };
  const isPooler = url.searchParams.get(POOLER_FLAG) === 'true';
  url.searchParams.delete(POOLER_FLAG);
  return { url: url.href, isPooler };
};

type Connect = () => Promise<Client>;

/**
 * Runs one statement, which is a transaction by itself; behind a pooler one is begun for it, since
 * the statement needs our session settings.
 */
const runAlone = async (pool: Pool, connect: Connect, args: readonly unknown[]): Promise<unknown> => {
  const run = (client: Client): Promise<unknown> =>
    (client.query.bind(client) as (...args: readonly unknown[]) => Promise<unknown>)(...args);
  if ((created.get(pool)?.settings ?? null) !== null) return transact(pool, connect, run, 'begin');
  const client = await open(connect);
  let isFit = true;
  try {
    return await run(client);
  } catch (error) {
    isFit = keepsSession(error);
    if (concernsAllSessions(error)) closeIdle(pool, connect);
    throw typedError(error, true);
  } finally {
    client.release(!isFit);
  }
};

/** Returns the options that `createPool` made a pool with: for a pool like it in another thread. */
export const poolOptions = (pool: Pool): PoolOptions => knownOf(pool).options;

/**
 * Runs `work` in one transaction, READ COMMITTED unless `begin` says otherwise; any throw rolls it
 * back. `statementTimeoutMs`: `work` lets its statements take so long.
 */
export const inTransaction = <T>(
  pool: Pool,
  work: (client: Client) => Promise<T>,
  begin = 'begin',
  statementTimeoutMs?: number,
): Promise<T> => transact(pool, () => pool.connect(), work, begin, statementTimeoutMs);

const transact = async <T>(
  pool: Pool,
  connect: Connect,
  work: (client: Client) => Promise<T>,
  begin: string,
  statementTimeoutMs?: number,
): Promise<T> => {
  const client = await open(connect);
  const restore = allowStatementTime(client, statementTimeoutMs);
  let isFit = true;
  let isCommitting = false;
  try {
    await client.query(beginWith(pool, begin));
    const result = await work(client);
    isCommitting = true;
    await client.query('commit');
    return result;
  } catch (error) {
    // Returns the session to the pool only if the failure cannot be the session's.
    isFit = keepsSession(error);
    // A lost session has nothing left to roll back, and one that does not answer would be waited
    // for once more.
    if (!isConnectionError(error))
      await client.query('rollback').catch(() => {
        isFit = false;
      });
    if (concernsAllSessions(error)) closeIdle(pool, connect);
    throw typedError(error, isCommitting);
  } finally {
    restore();
    client.release(!isFit);
  }
};

/**
 * Returns how a transaction begins behind a pooler: our session settings come after the first
 * statement and before those of `begin` itself.
 */
const beginWith = (pool: Pool, begin: string): string => {
  const settings = created.get(pool)?.settings ?? null;
  if (settings === null) return begin;
  const [first, ...rest] = begin.split(';');
  return [first === 'begin' ? 'begin isolation level read committed' : first, settings, ...rest].join(';');
};

const allowStatementTime = (client: Client, statementTimeoutMs: number | undefined): (() => void) => {
  if (statementTimeoutMs === undefined || !(client instanceof Session)) return () => undefined;
  const usual = client.answerWithinMs;
  client.answerWithinMs = statementTimeoutMs + ANSWER_MS;
  return () => {
    client.answerWithinMs = usual;
  };
};

const open = async (connect: Connect): Promise<Client> => {
  try {
    return await connect();
  } catch (error) {
    throw typedError(error, false);
  }
};

/** Closes the pool's idle connections, which are no better than the session that just failed. */
const closeIdle = (pool: Pool, connect: Connect): void => {
  for (let idle = pool.idleCount; idle > 0; idle--)
    void connect().then(
      (client) => {
        client.release(true);
        client.connection.stream.destroy(); // its goodbye may never arrive, and the socket would stay
      },
      () => undefined,
    );
};
