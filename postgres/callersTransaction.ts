import type pg from 'pg';
import { typedError } from './errors';
import type { Queryable } from './pool';
import { searchPath } from './searchPath';

/**
 * Runs `work` on a caller's client inside the caller's transaction, on our tables, and leaves the
 * session as it was: a savepoint, so that an error leaves nothing of ours behind; our search_path
 * for as long as `work` takes; no prepared names of ours in their session.
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
    await setPath(searchPath(schema));
    const result = await work(db);
    await setPath(rows[0]!.path);
    await db.query({ text: 'release savepoint muster' });
    return result;
  } catch (error) {
    await db.query({ text: 'rollback to savepoint muster' }).catch(() => undefined); // a lost connection has rolled back already
    throw typedError(error, false);
  }
};
