import type { WaitingTask } from '../../workflows/planning/calls/plans';
import { elementsOf } from '../arrayText';
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
 * The tasks of one target, a text per column: as rows they would cost this process six times as
 * much.
 */
interface HeadColumns {
  targetId: number;
  seqs: string;
  bytes: string;
  /** Null: 1 each. */
  weights: string | null;
  readyAtMs: string;
  places: string;
  /** Null: none of them was tried before. */
  attempts: string | null;
  keys: readonly (string | null)[] | null;
}

/**
 * Returns the heads of the queues: up to `limits[i]` tasks of `targetIds[i]`, in claim order,
 * `total` in all.
 */
export const readQueueHeads = async (
  db: Queryable,
  targetIds: readonly number[],
  limits: readonly number[],
  total: number,
  { keyed, coalesces }: { keyed: boolean; coalesces: boolean },
): Promise<Map<number, HeadTask[]>> => {
  const source = keyed ? KEYED_HEAD : coalesces ? COALESCED_HEAD : PLAIN_HEAD;
  const { rows } = await db.query<HeadColumns>({ ...source, values: [targetIds, limits, total] });
  return new Map(rows.map((columns) => [columns.targetId, tasksOf(columns)]));
};

const tasksOf = ({ keys, places, ...columns }: HeadColumns): HeadTask[] => {
  const seqs = elementsOf(columns.seqs);
  const bytes = elementsOf(columns.bytes);
  const readyAtMs = elementsOf(columns.readyAtMs);
  const weights = columns.weights === null ? null : elementsOf(columns.weights);
  const attempts = columns.attempts === null ? null : elementsOf(columns.attempts);
  const at = places.slice(2, -2).split('","'); // {"(0,1)","(0,2)"}
  return seqs.map((seq, i) => ({
    seq: Number(seq),
    bytes: Number(bytes[i]),
    weight: weights === null ? 1 : Number(weights[i]),
    readyAtMs: Number(readyAtMs[i]),
    key: keys === null ? null : keys[i]!,
    place: at[i]!,
    attempts: attempts === null ? 0 : Number(attempts[i]),
  }));
};

/** By `place` alone: it is what the rows come sorted by, so that no sort disturbs their order. */
const columnsOf = (head: string, keys: string): string => `
select
  min(q.target_id) as "targetId",
  array_agg(q.seq)::text as seqs,
  array_agg(q.bytes)::text as bytes,
  case when count(q.weight) > 0 then array_agg(coalesce(q.weight, 1))::text end as weights,
  array_agg(date_part('epoch', q.ready_at) * 1000)::text as "readyAtMs",
  array_agg(q.at)::text as places,
  case when max(q.attempts) > 0 then array_agg(q.attempts)::text end as attempts,
  ${keys} as keys
from (${head}) q
group by q.place
order by q.place`;

const IN_ORDER = `
  select t.place, q.*
  from unnest($1::int[], $2::int[]) with ordinality t (id, n, place) cross join lateral (
    select q.ctid as at, q.*
    from queue q
    where q.target_id = t.id
    order by q.priority, q.seq limit t.n) q
  order by t.place, q.priority, q.seq limit $3`;
const PLAIN_HEAD = { name: 'read-queue-heads', text: columnsOf(IN_ORDER, 'null') };
/** coalesceBy: the planner takes of each key the last. */
const COALESCED_HEAD = { name: 'read-coalesced-queue-heads', text: columnsOf(IN_ORDER, 'json_agg(q.key)') };
/**
 * distinctBy: the first task of every key that no live task holds. Reads the same window as
 * `lowerDue`.
 */
const KEYED_HEAD = {
  name: 'read-keyed-queue-heads',
  text: columnsOf(
    `
  select t.place, e.*
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
    'json_agg(q.key)',
  ),
};
