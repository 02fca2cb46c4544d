import pg from 'pg';
import type { Arrival } from '../report/optimum';

/** What the bench itself asks the databases, over a separate connection. */

export interface WatchedStore {
  connection: pg.Client;
  /** Cheap: is anything still waiting to be claimed? */
  pending: string;
  /** How many tasks are at their end. */
  terminal: string;
  /** Nothing goes on any more. */
  quiet: string;
  empty: string;
  arrivals: string;
}

export const watchMuster = (connection: pg.Client): WatchedStore => ({
  connection,
  pending: 'select from queue limit 1',
  terminal: `select (select coalesce(sum(n - n_left), 0) from batch where state in (4, 5, 6)) + (select count(*) from outcome) as n`,
  quiet: 'select from leader where state <> 0 limit 1',
  empty:
    'truncate lane_batch, dependency, task, queue, delayed, batch, dispatch, member, result_page, outcome, busy_key, notification',
  arrivals:
    'select k.id, t.key as target, extract(epoch from k.created_at)::float8 * 1000 as at from task k join target t on t.id = k.target_id',
});

export const watchFloor = (connection: pg.Client): WatchedStore => ({
  connection,
  pending: 'select from floor_task where state = 0 limit 1',
  terminal: 'select count(*) as n from floor_task where state = 2',
  quiet: 'select where false',
  empty: 'truncate floor_task',
  arrivals: 'select id, target, extract(epoch from created_at)::float8 * 1000 as at from floor_task',
});

export const openConnection = async (databaseUrl: string): Promise<pg.Client> => {
  const connection = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'bench',
    options: '-c search_path=muster,public',
  });
  await connection.connect();
  return connection;
};

const POLL_MS = 20;
const until = async (condition: () => Promise<boolean>, limitMs: number, what: string): Promise<void> => {
  for (const startedAt = performance.now(); !(await condition());) {
    if (performance.now() - startedAt > limitMs) throw new Error(`bench: ${what} for ${limitMs / 1_000} s`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
};

/**
 * Until all `tasks` are terminal. Counted only once nothing waits: counting rows is not cheap, and
 * the clock runs.
 */
export const untilTerminal = async (store: WatchedStore, tasks: number, limitMs: number): Promise<void> => {
  const { connection } = store;
  let drained = false;
  const ended = async (): Promise<boolean> => {
    drained ||= (await connection.query(store.pending)).rowCount === 0;
    return drained && Number((await connection.query<{ n: string }>(store.terminal)).rows[0]!.n) >= tasks;
  };
  await until(ended, limitMs, `not all of ${tasks} tasks ended`);
};

/**
 * Until the leaders have stepped down: what they still do belongs to the run, and tables may then
 * be emptied.
 */
export const untilQuiet = (store: WatchedStore): Promise<void> =>
  until(async () => (await store.connection.query(store.quiet)).rowCount === 0, 90_000, 'a leader went on');

export const countTerminal = async (store: WatchedStore): Promise<number> =>
  Number((await store.connection.query<{ n: string }>(store.terminal)).rows[0]!.n);

export const readArrivals = async (store: WatchedStore): Promise<Map<string, Arrival>> => {
  const { rows } = await store.connection.query<{ id: string; target: string; at: number }>(store.arrivals);
  return new Map(rows.map(({ id, target, at }) => [id, { target, atMs: at }]));
};

export const walPosition = async (store: WatchedStore): Promise<number> => {
  const { rows } = await store.connection.query<{ at: string }>(
    `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as at`,
  );
  return Number(rows[0]!.at);
};

/** Empty tables, and a checkpoint, so that none falls into one side's run by chance. */
export const prepareStore = async (store: WatchedStore): Promise<void> => {
  await store.connection.query(store.empty);
  await store.connection.query('checkpoint');
};
