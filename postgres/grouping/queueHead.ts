import type { WaitingTask } from '../../workflows/planning/calls/plans';
import type { Queryable } from '../pool';

/**
 * Reads the heads of the queues for a claim: which of a target's tasks come next, in which order.
 */

/** Moves delayed tasks whose time has come into the queue; their waiting time counts from then. */
export const promoteDelayed = async (db: Queryable, targetIds: readonly number[], limit: number): Promise<void> => {
  await db.query({
    name: 'promote-delayed',
    text: `
with due as (
  delete from delayed d using (
    select d.target_id, d.not_before, d.seq
    from unnest($1::int[]) t (id) cross join lateral (
      select *
      from delayed d
      where d.target_id = t.id and d.not_before <= clock()
      order by d.not_before limit $2) d limit $2) n
  where d.target_id = n.target_id and d.not_before = n.not_before and d.seq = n.seq
  returning d.*)
insert into queue (target_id, priority, seq, ready_at, bytes, attempts, weight, key)
select target_id, priority, seq, not_before, bytes, attempts, weight, key
from due`,
    values: [targetIds, limit],
  });
};

/** A queue row as the claim reads it. */
export interface HeadTask extends WaitingTask {
  /**
   * The row's place on disk (ctid): valid until the claim's transaction ends, whose lock on the
   * target keeps others from deleting the row.
   */
  place: string;
  attempts: number;
}

/**
 * Returns the heads of the queues: up to `limits[i]` tasks of `targetIds[i]`, in claim order,
 * `total` in all. Rows come as arrays, since they are many.
 */
export const readQueueHeads = async (
  db: Queryable,
  targetIds: readonly number[],
  limits: readonly number[],
  total: number,
  keyed: boolean,
): Promise<Map<number, HeadTask[]>> => {
  const source = keyed ? KEYED_HEAD : PLAIN_HEAD;
  const { rows } = await db.query({ ...source, values: [targetIds, limits, total], rowMode: 'array' } as never);
  const heads = new Map<number, HeadTask[]>();
  for (const [targetId, seq, priority, bytes, weight, readyAtMs, key, place, attempts] of rows as unknown as [
    number,
    number,
    number,
    number,
    number | null,
    number,
    string | null,
    string,
    number,
  ][]) {
    let head = heads.get(targetId);
    if (head === undefined) heads.set(targetId, (head = []));
    head.push({ seq, priority, bytes, weight: weight ?? 1, readyAtMs, key, place, attempts });
  }
  return heads;
};
const PLAIN_HEAD = {
  name: 'read-queue-heads',
  text: `
select q.target_id, q.seq, q.priority, q.bytes, q.weight, extract(epoch from q.ready_at)::float8 * 1000, q.key, q.at,
  q.attempts
from unnest($1::int[], $2::int[]) with ordinality t (id, n, place) cross join lateral (
  select q.ctid as at, q.*
  from queue q
  where q.target_id = t.id
  order by q.priority, q.seq limit t.n) q
order by t.place, q.priority, q.seq limit $3`,
};
/**
 * distinctBy: the first task of every key that no live task holds. Reads the same window as
 * `lowerDue`.
 */
const KEYED_HEAD = {
  name: 'read-keyed-queue-heads',
  text: `
select e.target_id, e.seq, e.priority, e.bytes, e.weight, extract(epoch from e.ready_at)::float8 * 1000, e.key, e.at,
  e.attempts
from unnest($1::int[], $2::int[]) with ordinality t (id, n, place) join target g on g.id = t.id
  join handler h on h.id = g.handler_id cross join lateral (
    select distinct on (q.key) q.*
    from (
      select q.ctid as at, q.*
      from queue q
      where q.target_id = t.id
      order by q.priority, q.seq limit 4 * h.max_items + 1000) q
    where not exists (select from busy_key b where b.target_id = t.id and b.key = q.key and b.seq <> q.seq)
    order by q.key, q.priority, q.seq) e
order by t.place, e.priority, e.seq limit $3`,
};
