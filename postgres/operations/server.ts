import type { Queryable } from '../pool';

/** What a server of Postgres says of itself. */
export interface ServerFacts {
  version: string;
  /** It replays another server's changes, and takes none. */
  isReplica: boolean;
  connections: number;
  maxConnections: number;
  /** Its clock, in ms since 1970. */
  clockMs: number;
}

export const readServer = async (db: Queryable): Promise<ServerFacts> => {
  const { rows } = await db.query<ServerFacts>({
    text: `
select current_setting('server_version') as version, pg_is_in_recovery() as "isReplica",
  (select sum(numbackends)::int from pg_stat_database) as connections,
  current_setting('max_connections')::int as "maxConnections",
  (extract(epoch from clock_timestamp()) * 1000)::float8 as "clockMs"`,
  });
  return rows[0]!;
};
