import type { Client, Queryable } from '../pool';

/** Most notes per statement. */
const NOTES = 20_000;

/** Ends of a handler's tasks, in the order of `ENDS`. */
export interface UncountedEnds {
  handler: string;
  ends: number[];
}

/**
 * Notes ends in the transaction that makes them. It adds rows and locks none, so that no process
 * waits for another one's commit, as each would at the row of the minute.
 */
export const noteEnds = async (client: Client, rows: readonly UncountedEnds[]): Promise<void> => {
  await client.query({
    name: 'note-ends',
    text: `
insert into uncounted_end (handler_id, minute, ends)
select h.id, date_trunc('minute', clock()), n.ends
from json_to_recordset($1) n (handler text, ends bigint[]) join handler h on h.name = n.handler`,
    values: [JSON.stringify(rows)],
  });
};

/**
 * Adds noted ends to the rows of their minutes, and deletes them, in one statement: each is counted
 * once. In the order of handlers, as the counts of workers are added. What is left over is counted
 * by the next round.
 */
export const countNotedEnds = async (db: Queryable): Promise<void> => {
  await db.query({
    name: 'count-noted-ends',
    text: `
with noted as materialized (select u.ctid from uncounted_end u limit $1 for update of u skip locked),
taken as (delete from uncounted_end u using noted s where u.ctid = s.ctid returning u.handler_id, u.minute, u.ends),
places as (
  select t.handler_id, t.minute, e.place, sum(e.n)::bigint as n
  from taken t cross join lateral unnest(t.ends) with ordinality e (n, place)
  group by t.handler_id, t.minute, e.place)
insert into outcome_minute as m (handler_id, minute, calls, ends, latency, sizes, reasons, tasks, call_ms)
select p.handler_id, p.minute, '{}', array_agg(p.n order by p.place), '{}', '{}', '{}', 0, 0
from places p join handler h on h.id = p.handler_id
group by p.handler_id, p.minute
order by p.handler_id, p.minute
on conflict (minute, handler_id) do update set ends = add_counts(m.ends, excluded.ends)`,
    values: [NOTES],
  });
};
