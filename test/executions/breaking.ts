import type { QueryConfig } from 'pg';
import { createPool } from '../../postgres/pool';
import type { Client, Pool } from '../../postgres/pool';

/**
 * Which statements of a pool fail as if the session were lost: before they reach the server, or
 * after it has done them.
 */
export interface Breaking {
  name: string | null;
  when: 'before' | 'after';
  times: number;
  /** SQLSTATE of the failure; default: that of a lost session. */
  code?: string;
  /** How often it did so far. */
  broke: number;
}

const LOST = '08006';
const failure = (name: string, code: string): Error =>
  Object.assign(new Error(`${code === LOST ? 'Connection terminated' : 'Refused'}: the test fails ${name}`), { code });

type Query = (...args: unknown[]) => Promise<unknown>;
const nameOf = (first: unknown): string =>
  typeof first === 'string' ? first : ((first as QueryConfig).name ?? (first as QueryConfig).text);

const broken =
  (query: Query, breaking: Breaking): Query =>
  async (...args) => {
    // `pool.query` calls its session with a callback, and was asked already.
    const hits = nameOf(args[0]) === breaking.name && breaking.times > 0 && typeof args.at(-1) !== 'function';
    if (!hits) return query(...args);
    breaking.times--;
    breaking.broke++;
    if (breaking.when === 'after') await query(...args);
    throw failure(breaking.name!, breaking.code ?? LOST);
  };

export const breakingPool = (databaseUrl: string): { pool: Pool; breaking: Breaking } => {
  const breaking: Breaking = { name: null, when: 'before', times: 0, broke: 0 };
  const pool = createPool({ databaseUrl, max: 20 });
  const wrapped = new WeakSet<object>();
  const connect = pool.connect.bind(pool) as (...args: unknown[]) => Promise<Client>;
  // `pool.query` takes its session by a callback: it is wrapped itself.
  pool.connect = ((...args: unknown[]) =>
    args.length > 0
      ? connect(...args)
      : connect().then((session) => {
          if (!wrapped.has(session)) {
            wrapped.add(session);
            session.query = broken(session.query.bind(session), breaking) as typeof session.query;
          }
          return session;
        })) as typeof pool.connect;
  pool.query = broken(pool.query.bind(pool), breaking) as typeof pool.query;
  return { pool, breaking };
};
