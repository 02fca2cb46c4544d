import type { Fleet } from './helpers';

/** Rows of nodes that answer roll calls and take nothing; their ids begin with `ghost`. */
export const summonGhosts = (fleet: Fleet, ...ids: string[]): Promise<unknown> =>
  fleet.database.pool.query(
    `insert into node (id, task_queue, functions, batch, started_at, seen_at) select u, '', '{echo}', true, clock(), clock() + interval '1 hour' from unnest($1::text[]) u`,
    [ids],
  );

export const exorciseGhosts = (fleet: Fleet): Promise<unknown> =>
  fleet.database.pool.query(`delete from node where id like 'ghost%'`);
