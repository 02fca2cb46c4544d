import type { Queryable } from '../pool';

/**
 * Statements that find between which seqs the tasks are that were accepted from a time on, or
 * before one. A seq is drawn in the statement that reads the clock, so tasks are in the order of
 * time but for how long such a statement ran before it drew. No index is by time, since each
 * submit would pay for it: the primary key is halved to a place near the time, and read from there.
 */

/** Between which seqs tasks are, both included. */
export interface SeqRange {
  from: number;
  to: number;
}
export const ALL_SEQS: SeqRange = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** Rows that one statement reads towards the exact place. */
export const WALKED = 20_000;

/** Returns the first seq after which tasks are as late as this (Unix milliseconds), by halving. */
export const halveToTime = async (db: Queryable, ms: number): Promise<number> => {
  const { rows } = await db.query<{ seq: number }>({
    name: 'halve-to-time',
    text: `
with recursive halved (lo, hi) as (
  select 0::bigint, coalesce((select max(k.seq) from task k), 0) + 1
  union all
  select case when f.created_at < to_timestamp($1::float8 / 1000) then f.seq + 1 else h.lo end,
    case when f.created_at < to_timestamp($1::float8 / 1000) then h.hi else (h.lo + h.hi) / 2 end
  from halved h left join lateral (
    select k.seq, k.created_at
    from task k
    where k.seq >= (h.lo + h.hi) / 2 and k.seq < h.hi
    order by k.seq limit 1) f on true
  where h.lo < h.hi)
select h.lo as seq
from halved h
where h.lo >= h.hi limit 1`,
    values: [ms],
  });
  return rows[0]!.seq;
};

/** The seq that a walk found, or to which it came. */
export interface Walk {
  /** Null: there are no more rows in this direction. */
  seq: number | null;
  isFound: boolean;
}
const walkOf = ([seq, isFound]: [number | null, boolean]): Walk => ({ seq, isFound });

/** Walks upwards from a seq to the first task that was accepted at this time or later. */
export const walkToTime = async (db: Queryable, ms: number, from: number): Promise<Walk> => {
  const { rows } = await db.query<{ walk: [number | null, boolean] }>({
    name: 'walk-to-time',
    text: `
select coalesce((
  select json_build_array(w.seq, true)
  from (
    select k.seq, k.created_at
    from task k
    where k.seq >= $2::bigint
    order by k.seq limit ${WALKED}) w
  where w.created_at >= to_timestamp($1::float8 / 1000)
  order by w.seq limit 1), (
  select json_build_array(max(w.seq), false)
  from (
    select k.seq
    from task k
    where k.seq >= $2
    order by k.seq limit ${WALKED}) w)) as walk`,
    values: [ms, from],
  });
  return walkOf(rows[0]!.walk);
};

/** Walks downwards from before a seq to the last task that was accepted before this time. */
export const walkBeforeTime = async (db: Queryable, ms: number, before: number): Promise<Walk> => {
  const { rows } = await db.query<{ walk: [number | null, boolean] }>({
    name: 'walk-before-time',
    text: `
select coalesce((
  select json_build_array(w.seq, true)
  from (
    select k.seq, k.created_at
    from task k
    where k.seq < $2::bigint
    order by k.seq desc limit ${WALKED}) w
  where w.created_at < to_timestamp($1::float8 / 1000)
  order by w.seq desc limit 1), (
  select json_build_array(min(w.seq), false)
  from (
    select k.seq
    from task k
    where k.seq < $2
    order by k.seq desc limit ${WALKED}) w)) as walk`,
    values: [ms, before],
  });
  return walkOf(rows[0]!.walk);
};
