import type pg from 'pg';
import { types } from './types';

/** A caller's pool, and its connections, seen through objects of ours: theirs stay as they are. */

/** Returns a view of a caller's pool, whose connections send statements as ours do. */
export const borrowedFrom = (pool: pg.Pool): pg.Pool =>
  Object.assign(Object.create(pool) as pg.Pool, {
    connect: async () => borrowedClient(await pool.connect()),
  });

const borrowedClient = (client: pg.PoolClient): pg.PoolClient => {
  // A connection that the server closes must not end the process: the next statement reports it.
  client.on('error', ignore);
  return Object.assign(Object.create(client) as pg.PoolClient, {
    query: ((query: unknown, ...rest: unknown[]) =>
      (client.query.bind(client) as (...args: unknown[]) => unknown)(
        isConfig(query) ? { ...query, name: undefined, types } : query,
        ...rest,
      )) as pg.PoolClient['query'],
    release: (failure?: Error | boolean) => {
      if (failure === undefined || failure === false) client.off('error', ignore);
      client.release(failure);
    },
  });
};

const ignore = (): void => undefined;

/** Says whether it is a statement's text and values, and not a text alone or a stream. */
const isConfig = (query: unknown): query is pg.QueryConfig =>
  typeof query === 'object' && query !== null && typeof (query as { submit?: unknown }).submit !== 'function';

/** Returns a new pool of one connection, which is made as those of `pool` are. */
export const anotherOf = (pool: pg.Pool): pg.Pool => {
  const { options } = pool;
  // `pg` hides these two from an enumeration, lest they be printed.
  const { password, ssl } = options;
  const Pool = pool.constructor as new (config: pg.PoolConfig) => pg.Pool;
  const another = new Pool({ ...options, ...(password === undefined ? {} : { password }), ssl, max: 1, min: 0 });
  another.on('error', () => undefined); // an idle connection that the server closes: the next one is new
  return another;
};
