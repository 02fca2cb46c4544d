import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';

/** Where Postgres spends its time, by statement: for `--profile`. */

export const resetStatements = async (sides: readonly { store: { connection: pg.Client } }[]): Promise<void> => {
  for (const { store } of sides) {
    await store.connection.query('create extension if not exists pg_stat_statements schema public');
    await store.connection.query('select public.pg_stat_statements_reset()');
  }
};

export const writeStatements = async (
  sides: readonly { store: { connection: pg.Client } }[],
  file: string,
): Promise<void> => {
  const { rows } = await sides.at(-1)!.store.connection.query<{
    ms: number;
    calls: number;
    rows: number;
    database: string;
    query: string;
  }>(`
select d.datname as database, round(s.total_exec_time)::int as ms, s.calls::int, s.rows::int, s.wal_bytes::bigint as wal, left(regexp_replace(s.query, '\\s+', ' ', 'g'), 160) as query
from public.pg_stat_statements s join pg_database d on d.oid = s.dbid where s.total_exec_time >= 1 order by 1, 2 desc`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
};
