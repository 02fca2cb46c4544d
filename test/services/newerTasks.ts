import type pg from 'pg';

/** More than the sweeper looks back at in each round. */
const NEWER = 10_001;

/**
 * Accepts so many tasks of another target after those that are there that only the sweeper's cycle
 * over all queued targets reaches the older ones. They are in no queue. Returns how to delete them.
 */
export const acceptNewer = async (db: pg.Client, target: string): Promise<(pool: pg.Pool) => Promise<void>> => {
  await db.query(
    `
with call as materialized (select nextval('muster.submit_seq') * 16384 as base)
insert into muster.task (seq, created_at, target_id, bytes, id, payload)
select c.base + g, muster.clock(), t.id, 2, 'newer-' || g, '{}' from call c, muster.target t, generate_series(0, $2 - 1) g
where t.key = $1`,
    [target, NEWER],
  );
  return async (pool) => void (await pool.query(`delete from muster.task where id like 'newer-%'`));
};
