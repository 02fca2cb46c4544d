import { createClient } from '../../../client';
import type { Client } from '../../../client';
import type { Pool } from '../../../postgres/pool';
import { createPool } from '../../../postgres/pool';

/**
 * What an operator's question costs: its time, and the rows that it reads from tables and indexes
 * (the same on any machine).
 */
export interface OperationMeasure {
  operation: string;
  tasks: number;
  ms: number;
  rowsRead: number;
}

export type Operation = (client: Client) => Promise<unknown>;

/** Those that are asked often, and after `full` those that read everything. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  verify: (client) => client.verify(),
  status: (client) => client.status(),
  'status of a handler': (client) => client.status('bulk'),
  explain: (client) => client.explain('task-0'),
  'tasks that wait': (client) => client.tasks.list('bulk', { state: 'created' }),
  'tasks of a target that wait': (client) => client.tasks.list('bulk', { state: 'created', target: 'bulk 1' }),
  'tasks in lanes': (client) => client.tasks.list('edits', { state: 'created' }),
  'tasks in open batches': (client) => client.tasks.list('bulk', { state: 'batched' }),
  'tasks that failed': (client) => client.tasks.list('bulk', { state: 'failed' }),
  'tasks that succeeded': (client) => client.tasks.list('bulk', { state: 'succeeded' }),
  'tasks of a state that none is in': (client) => client.tasks.list('bulk', { state: 'dead' }),
  'verify --full': (client) => client.verify({ full: true }),
  'status --exact': (client) => client.status(undefined, { exact: true }),
};

export const measure = async (
  databaseUrl: string,
  operation: Operation,
): Promise<Omit<OperationMeasure, 'operation' | 'tasks'>> => {
  const pool = createPool({ databaseUrl, max: 1 });
  const client = createClient({ databaseUrl, pool, temporal: { address: '127.0.0.1:1' } });
  try {
    await client.status('bulk', { exact: false }); // the schema is checked once, at the first question
    const before = await rowsRead(pool);
    const begun = performance.now();
    await operation(client);
    const ms = Math.round(performance.now() - begun);
    return { ms, rowsRead: (await rowsRead(pool)) - before };
  } finally {
    await client.close();
    await pool.end();
  }
};

/** By this pool's only session, which tells its numbers when it is asked. */
export const rowsRead = async (pool: Pool): Promise<number> => {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ n: number }>(`
select (select sum(seq_tup_read) from pg_stat_all_tables where schemaname = 'muster')::float8
  + (select sum(greatest(idx_tup_read, idx_tup_fetch)) from pg_stat_all_indexes where schemaname = 'muster')::float8 as n`);
  return rows[0]!.n;
};
