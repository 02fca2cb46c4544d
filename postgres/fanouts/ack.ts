import type { SegmentWant } from '../../workflows/planning/fanouts/acks';
import type { CompletedRow } from './fanout';
import type { Queryable } from '../pool';

/**
 * Statements that change or read bits of segments: acked (cleared), reopened (set), read. Each
 * succeeds as a whole or not at all, and concurrent acks of one segment lose nothing.
 */

/**
 * A request for items that cannot be served. `why`: no such fan-out, an expired one, a complete one
 * (when reopening items), no such segment, an index past the segment's size.
 */
export interface BadWant {
  /** Index of the request among all requests. */
  at: number;
  why: 'fanout' | 'expired' | 'complete' | 'segment' | 'index';
  /** Size of the segment, where it is known. */
  size: number | null;
}
export interface AckAnswer {
  /** Not empty: nothing was changed. */
  bad: BadWant[];
  /** Bits that this call changed; the others had the value already. */
  changed: number;
  /** Fan-outs that this call completed: exactly one call returns each. */
  completed: CompletedRow[];
}

/**
 * SQLSTATE of `refuse`: the fan-out ended between the statement's snapshot and its lock. The
 * statement, run again, reports that itself.
 */
export const REFUSED = 'MU001';

const NONE: AckAnswer = { bad: [], changed: 0, completed: [] };

/**
 * The common start of both statements: the requests with their fan-outs (`wanted`), and their
 * segments, locked in (fanout_id, no) order (`locked`).
 */
const WANTED = `wanted as materialized (
  select w.at::int, f.id as fanout_id, f.state, w.no, w.indexes::int[] as indexes, w.highest
  from unnest($1::uuid[], $2::int[], $3::text[], $4::int[]) with ordinality w (fanout, no, indexes, highest,
    at) left join fanout f on f.public_id = w.fanout and f.state < 4 /* not deleted */),
locked as materialized (
  select w.at, w.indexes, s.fanout_id, s.no, s.size, s.bits from wanted w
    join segment s on s.fanout_id = w.fanout_id and s.no = w.no
  order by s.fanout_id, s.no for no key update of s)`;

/** Returns the parameters of `WANTED`. */
const valuesOf = (wants: readonly SegmentWant[]): unknown[] => [
  wants.map(({ fanout }) => fanout),
  wants.map(({ segment }) => segment),
  wants.map(({ indexes }) => `{${indexes.join(',')}}`),
  wants.map(({ indexes }) => Math.max(...indexes)),
];

/**
 * Clears the bits of these items. Locks the segments in (fanout_id, no) order, then, in id order,
 * the rows of fan-outs whose segment this empties (or that saw no activity for a minute).
 * `open_segments` goes down in the same transaction, so of two last acks the second one sees the
 * first. All values written come from the locked rows (`locked`, `turn`), which are the newest: an
 * update's first look at its row may be older, and the table's checks judge the values computed
 * from that look too, before the row is read again.
 */
export const ackItems = async (db: Queryable, wants: readonly SegmentWant[]): Promise<AckAnswer> => {
  const { rows } = await db.query<AckAnswer>({
    name: 'ack-items',
    text: `
with ${WANTED},
bad as materialized (
  select w.at - 1 as at, case when w.fanout_id is null then 'fanout' when w.state = 3 /* expired */ then 'expired'
      when l.at is null then 'segment' else 'index' end as why, l.size
  from wanted w left join locked l on l.at = w.at
  where w.fanout_id is null or w.state = 3 /* expired */ or l.at is null or w.highest >= l.size),
next as materialized (
  select fanout_id, no, bits as before, put_bits(bits, indexes, 0) as bits
  from locked
  where not exists (select from bad)),
cleared as (
  update segment s set bits = n.bits
  from next n
  where s.fanout_id = n.fanout_id and s.no = n.no and n.bits <> n.before
  returning s.fanout_id, bit_count(n.before) - bit_count(n.bits) as changed, bit_count(n.bits) = 0 as emptied),
turn as materialized (
  select f.*, f.open_segments - c.emptied as left, c.emptied
  from (select fanout_id, (count(*) filter (where emptied))::int as emptied from cleared group by fanout_id) c
    join fanout f on f.id = c.fanout_id
  where c.emptied > 0 or f.state > 2 /* expired */ or f.active_at < clock() - interval '1 minute'
  order by f.id for no key update of f),
done as (
  update fanout f set segments = t.segments, items = t.items, sealed_at = t.sealed_at, expired_at = t.expired_at,
    open_segments = t.left,
    state = case when t.state = 1 /* sealed */ and t.left = 0 then 2 /* complete */ else t.state end,
    completed_at = case when t.state = 1 /* sealed */ and t.left = 0 then clock() else t.completed_at end,
    active_at = case when t.active_at < clock() - interval '1 minute' or t.state = 1 /* sealed */
      and t.left = 0 then clock() else t.active_at end
  from turn t
  where f.id = t.id
  returning f.*, t.emptied),
completed as (select * from done where state = 2 /* complete */ and emptied > 0),
event as (
  insert into notification (fanout_id, recipient_id, body, next_at)
  select id, recipient_id, fanout_event(public_id, user_key, state, items, completed_at), clock()
  from completed
  where recipient_id is not null)
select coalesce((select json_agg(b order by b.at) from bad b), '[]') as bad,
  coalesce((select sum(changed) from cleared), 0)::int as changed, coalesce((select json_agg(json_build_object(
         'id', public_id, 'userKey', user_key, 'items', items, 'told', recipient_id is not null, 'completedAt',
         to_char(completed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
     from completed), '[]') as completed
where not exists (
  select from done
  where case when state > 2 /* expired */ then refuse('a fan-out expired while its items were acked') end)`,
    values: valuesOf(wants),
  });
  return rows[0] ?? NONE;
};

/**
 * Sets the bits again, to undo a mistaken ack, as long as the fan-out is not complete. Locks as
 * `ackItems`.
 */
export const reopenItems = async (db: Queryable, wants: readonly SegmentWant[]): Promise<AckAnswer> => {
  const { rows } = await db.query<AckAnswer>({
    name: 'reopen-items',
    text: `
with ${WANTED},
bad as materialized (
  select w.at - 1 as at, case when w.fanout_id is null then 'fanout' when w.state = 3 /* expired */ then 'expired'
      when w.state = 2 /* complete */ then 'complete' when l.at is null then 'segment' else 'index' end as why, l.size
  from wanted w left join locked l on l.at = w.at
  where w.fanout_id is null or w.state > 1 /* complete or expired */ or l.at is null or w.highest >= l.size),
next as materialized (
  select fanout_id, no, bits as before, put_bits(bits, indexes, 1) as bits
  from locked
  where not exists (select from bad)),
opened as (
  update segment s set bits = n.bits
  from next n
  where s.fanout_id = n.fanout_id and s.no = n.no and n.bits <> n.before
  returning s.fanout_id, bit_count(n.bits) - bit_count(n.before) as changed, bit_count(n.before) = 0 as filled),
turn as materialized (
  select f.*, c.filled
  from (select fanout_id, (count(*) filter (where filled))::int as filled from opened group by fanout_id) c
    join fanout f on f.id = c.fanout_id
  where c.filled > 0 or f.state > 1 /* complete or expired */ or f.active_at < clock() - interval '1 minute'
  order by f.id for no key update of f),
done as (
  update fanout f set segments = t.segments, items = t.items, sealed_at = t.sealed_at, expired_at = t.expired_at,
    completed_at = t.completed_at, state = t.state,
    open_segments = t.open_segments + case when t.state < 2 /* open or sealed */ then t.filled else 0 end,
    active_at = clock()
  from turn t
  where f.id = t.id
  returning f.state)
select coalesce((select json_agg(b order by b.at) from bad b), '[]') as bad,
  coalesce((select sum(changed) from opened), 0)::int as changed, '[]'::json as completed
where not exists (
  select from done
  where case when state > 1 /* complete or expired */ then refuse(
    'a fan-out ended while its items were opened again') end)`,
    values: valuesOf(wants),
  });
  return rows[0] ?? NONE;
};

/** Returns the existing segments, in order; `bits` are numbered as in `bits.ts`. */
export const readSegments = async (
  db: Queryable,
  fanouts: readonly string[],
  segments: readonly number[],
): Promise<{ fanout: string; segment: number; size: number; bits: Buffer }[]> => {
  const { rows } = await db.query<{ fanout: string; segment: number; size: number; bits: Buffer }>({
    name: 'read-segments',
    text: `
select f.public_id as fanout, s.no as segment, s.size, s.bits
from unnest($1::uuid[], $2::int[]) w (fanout, no) join fanout f on f.public_id = w.fanout
    and f.state < 4 /* not deleted */ join segment s on s.fanout_id = f.id and s.no = w.no
order by s.fanout_id, s.no`,
    values: [fanouts, segments],
  });
  return rows;
};
