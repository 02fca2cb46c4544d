import type { Queryable } from '../pool';

/**
 * Statements that find between which seqs the tasks are that were accepted from a time on, or
 * before one. A seq is drawn in the statement that reads the clock, so tasks are in the order of
 * time but for how long such a statement ran before it drew. No index is by time, since each
 * submit would pay for it: the primary key is halved, and of the place only so many rows are read.
 */

/** Between which seqs tasks are, both included. */
export interface SeqRange {
  from: number;
  to: number;
}
export const ALL_SEQS: SeqRange = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** For how long a statement may have run before it drew its seqs: so long do our own run at most. */
const DRAWN_WITHIN_MS = 60_000;
/** Rows that are read to find the exact place; among more the range begins or ends too early. */
const WALKED = 20_000;

/** Part of statements: halves the seqs until `lo` is the first after which tasks are so late. */
const halving = (time: string): string => `
with recursive halved (lo, hi) as (
  select 0::bigint, coalesce((select max(k.seq) from task k), 0) + 1
  union all
  select case when f.created_at < ${time} then f.seq + 1 else h.lo end,
    case when f.created_at < ${time} then h.hi else (h.lo + h.hi) / 2 end
  from halved h left join lateral (
    select k.seq, k.created_at
    from task k
    where k.seq >= (h.lo + h.hi) / 2 and k.seq < h.hi
    order by k.seq limit 1) f on true
  where h.lo < h.hi),
place as materialized (select h.lo as seq from halved h where h.lo >= h.hi limit 1)`;

const at = (ms: number): string =>
  `to_timestamp($1::float8 / 1000) ${ms < 0 ? '-' : '+'} interval '${Math.abs(ms)} ms'`;

const reading =
  (name: string, text: string) =>
  async (db: Queryable, ms: number): Promise<number> => {
    const { rows } = await db.query<{ seq: number }>({ name, text, values: [ms] });
    return rows[0]!.seq;
  };

/** Returns a seq before which no task was accepted at this time (Unix milliseconds) or later. */
export const findAcceptedFrom = reading(
  'find-accepted-from',
  `${halving(at(-DRAWN_WITHIN_MS))}
select coalesce((
  select w.seq
  from (
    select k.seq, k.created_at
    from task k
    where k.seq >= (select p.seq from place p)
    order by k.seq limit ${WALKED}) w
  where w.created_at >= to_timestamp($1::float8 / 1000)
  order by w.seq limit 1), (
  select max(w.seq)
  from (
    select k.seq
    from task k
    where k.seq >= (select p.seq from place p)
    order by k.seq limit ${WALKED}) w), (
  select p.seq
  from place p)) as seq`,
);

/** Returns a seq after which no task was accepted before this time (Unix milliseconds). */
export const findAcceptedUntil = reading(
  'find-accepted-until',
  `${halving(at(DRAWN_WITHIN_MS))}
select coalesce((
  select w.seq
  from (
    select k.seq, k.created_at
    from task k
    where k.seq < (select p.seq from place p)
    order by k.seq desc limit ${WALKED}) w
  where w.created_at < to_timestamp($1::float8 / 1000)
  order by w.seq desc limit 1), (
  select min(w.seq)
  from (
    select k.seq
    from task k
    where k.seq < (select p.seq from place p)
    order by k.seq desc limit ${WALKED}) w), (
  select p.seq
  from place p)) as seq`,
);
