import { HAS_ROOM } from '../grouping/room';
import type { Queryable } from '../pool';

/**
 * What the sweeper looks for, a page at a time. Each statement starts after a cursor, reads a
 * bounded number of index entries and returns where it stopped (null: at the end), so that a round
 * costs the same with ten targets and with a million. They only find; the statements of `ring.ts`,
 * `batch.ts` and `leader.ts` repair, as for every caller.
 */
export interface TargetPage {
  /** Start of the next page; null: this was the last one. */
  next: number | null;
  read: number;
  /** Targets with work that have no due time, or one that is too late: their ring never came. */
  forgotten: number[];
  /** Targets due later: only a ring can tell whether they have filled up since. */
  later: number[];
}

const targetPage = (
  row: { last: number | null; read: number; forgotten: number[]; later: number[] },
  limit: number,
): TargetPage => ({
  next: row.read < limit ? null : row.last,
  read: row.read,
  forgotten: row.forgotten,
  later: row.later,
});

/**
 * Returns the next `limit` targets that have queued tasks, one index probe each (a loose scan):
 * idle targets cost nothing. A target's first row bounds its due time, so one that waits for
 * tomorrow's delayed task and got a task for now is found too. Allows a second's grace.
 */
export const sweepQueued = async (db: Queryable, after: number, limit: number): Promise<TargetPage> => {
  const { rows } = await db.query<{ last: number | null; read: number; forgotten: number[]; later: number[] }>({
    name: 'sweep-queued',
    text: `
with recursive page as (
  (select q.target_id, q.ready_at, 1 as n
   from queue q
   where q.target_id > $1
   order by q.target_id, q.priority, q.seq limit 1)
  union all select f.target_id, f.ready_at, p.n + 1
  from page p cross join lateral (
    select q.target_id, q.ready_at
    from queue q
    where q.target_id > p.target_id
    order by q.target_id, q.priority, q.seq limit 1) f
  where p.n < $2),
seen as (
  select p.target_id, not t.busy and not t.paused as open, t.due_at, t.hold_until, greatest(
    t.hold_until, p.ready_at + coalesce((t.overrides->>'lingerMs')::bigint, h.linger_ms) * interval '1 ms') as bound
  from page p join target t on t.id = p.target_id join handler h on h.id = t.handler_id)
select max(target_id) as last, count(*)::int as read, coalesce(
  array_agg(target_id) filter (where open and (due_at is null or due_at > bound + interval '1 s')),
  '{}') as forgotten,
  coalesce(
    array_agg(target_id) filter (where open and due_at between clock() + interval '2 s' and bound + interval '1 s'
      and (hold_until is null or hold_until <= clock())), '{}') as later
from seen`,
    values: [after, limit],
  });
  return targetPage(rows[0]!, limit);
};

/**
 * Returns forgotten targets among those of the newest `limit` tasks with a seq from `fromSeq` on,
 * and where the next look should begin: however many targets have a backlog, newly accepted tasks
 * are checked within a round; a target that is due already costs no probe. A task whose transaction
 * was open for long lies further back: `sweepQueued` finds it.
 */
export const sweepRecent = async (
  db: Queryable,
  fromSeq: number,
  limit: number,
): Promise<{ newestSeq: number; forgotten: number[] }> => {
  const { rows } = await db.query<{ newestSeq: number; forgotten: number[] }>({
    name: 'sweep-recent',
    text: `
with newest as materialized (
  select k.seq, k.target_id
  from task k
  where k.seq >= $1
  order by k.seq desc limit $2),
seen as (
  select t.id, t.due_at, greatest(
    t.hold_until, q.ready_at + coalesce((t.overrides->>'lingerMs')::bigint, h.linger_ms) * interval '1 ms') as bound
  from (select distinct target_id from newest) n join target t on t.id = n.target_id and not t.busy and not t.paused
      and (t.due_at is null or t.due_at > clock()) join handler h on h.id = t.handler_id
    cross join lateral (select q.ready_at from queue q where q.target_id = t.id order by q.priority, q.seq limit 1) q)
select coalesce((select max(seq) from newest), $1) as "newestSeq", coalesce(
  (select array_agg(id) from seen where due_at is null or due_at > bound + interval '1 s'), '{}') as forgotten`,
    values: [fromSeq, limit],
  });
  return rows[0]!;
};

/** A place in the order in which delayed tasks become due. */
export interface DuePlace {
  /** Its `not_before`, as the database writes it. */
  at: string;
  seq: number;
}

/**
 * Returns forgotten targets among those of the next `limit` delayed tasks that have become due
 * within the last `withinMs`, and where it stopped (null: at those that are due now): however many
 * targets wait for later, one that should be looked at now is found within a round. It compares
 * times in UTC and negative numbers, as the index `delayed_due` has them.
 */
export const sweepDue = async (
  db: Queryable,
  after: DuePlace | null,
  withinMs: number,
  limit: number,
): Promise<{ next: DuePlace | null; forgotten: number[] }> => {
  const { rows } = await db.query<{ last: DuePlace | null; read: number; forgotten: number[] }>({
    name: 'sweep-due',
    text: `
with due as materialized (
  select d.target_id, d.not_before, d.seq
  from delayed d
  where ((d.not_before at time zone 'UTC'), -d.seq)
      > (coalesce($1::timestamptz, clock() - $3 * interval '1 ms') at time zone 'UTC', -$2::bigint)
    and (d.not_before at time zone 'UTC') <= clock() at time zone 'UTC'
  order by (d.not_before at time zone 'UTC'), -d.seq limit $4),
first as (select target_id, min(not_before) as at from due group by 1)
select (
    select json_build_object('at', not_before, 'seq', seq)
    from due
    order by not_before desc, -seq desc limit 1) as last,
  (select count(*)::int from due) as read, coalesce(array_agg(t.id) filter (where not t.busy and not t.paused
    and (t.due_at is null or t.due_at > greatest(t.hold_until, f.at) + interval '1 s')), '{}') as forgotten
from first f join target t on t.id = f.target_id`,
    values: [after?.at ?? null, after?.seq ?? 0, withinMs, limit],
  });
  const { last, read, forgotten } = rows[0]!;
  return { next: read < limit ? null : last, forgotten };
};

/** Returns the next targets with delayed tasks, as `sweepQueued` does for queued ones. */
export const sweepDelayed = async (db: Queryable, after: number, limit: number): Promise<TargetPage> => {
  const { rows } = await db.query<{ last: number | null; read: number; forgotten: number[] }>({
    name: 'sweep-delayed',
    text: `
with recursive page as (
  (select d.target_id, d.not_before, 1 as n
   from delayed d
   where d.target_id > $1
   order by d.target_id, d.not_before limit 1)
  union all select f.target_id, f.not_before, p.n + 1
  from page p cross join lateral (
    select d.target_id, d.not_before
    from delayed d
    where d.target_id > p.target_id
    order by d.target_id, d.not_before limit 1) f
  where p.n < $2)
select max(p.target_id) as last, count(*)::int as read, coalesce(
  array_agg(p.target_id) filter (where not t.busy and not t.paused
    and (t.due_at is null or t.due_at > greatest(t.hold_until, p.not_before) + interval '1 s')), '{}') as forgotten
from page p join target t on t.id = p.target_id`,
    values: [after, limit],
  });
  return targetPage({ ...rows[0]!, later: [] }, limit);
};

export interface BatchPage {
  next: { leaderId: number; id: number } | null;
  read: number;
  /** Targets of open batches that wait in the store, due too late or without a due time. */
  forgotten: number[];
  /**
   * Batches refused in a first split whose other half has ended, so that nothing will decide about
   * them. It should not happen.
   */
  stranded: number[];
}

/** Returns the next `limit` open batches, leader by leader. */
export const sweepBatches = async (
  db: Queryable,
  after: { leaderId: number; id: number },
  limit: number,
): Promise<BatchPage> => {
  const { rows } = await db.query<{
    leaderId: number | null;
    id: number | null;
    read: number;
    forgotten: number[];
    stranded: number[];
  }>({
    name: 'sweep-batches',
    text: `
with page as materialized (
  select b.id, b.leader_id, b.target_id, b.parent_id, b.refused, coalesce(b.retry_at, b.created_at) as ready_at,
    b.dispatch is null and b.reference is null and not b.refused as waiting
  from batch b
  where b.state = 1 /* open */ and b.leader_id <> 0 and (b.leader_id, b.id) > ($1, $2)
  order by b.leader_id, b.id limit $3),
last as (select leader_id, id from page order by leader_id desc, id desc limit 1)
select (select leader_id from last) as "leaderId", (select id from last) as id, count(*)::int as read,
  coalesce(array_agg(distinct p.target_id) filter (where p.waiting and not t.busy and not t.paused
      and (t.due_at is null or t.due_at > greatest(t.hold_until, p.ready_at) + interval '1 s')), '{}') as forgotten,
  coalesce(array_agg(p.id) filter (where p.refused and not exists (
        select from batch s
        where s.parent_id = p.parent_id and s.id <> p.id and s.state = 1 /* open */ and not s.refused)),
    '{}') as stranded
from page p join target t on t.id = p.target_id`,
    values: [after.leaderId, after.id, limit],
  });
  const { leaderId, id, read, forgotten, stranded } = rows[0]!;
  const next = read < limit || leaderId === null || id === null ? null : { leaderId, id };
  return { next, read, forgotten, stranded };
};

export interface LeaderPage {
  next: number | null;
  read: number;
  /**
   * One target each of leaders that are idle, or wait too long, although it is due: their wake
   * never came.
   */
  due: number[];
  /**
   * Targets that count as busy under an idle leader, though their calls and weight are below the
   * limits.
   */
  busy: number[];
}

/** Returns the next `limit` leaders. */
export const sweepLeaders = async (db: Queryable, after: number, limit: number): Promise<LeaderPage> => {
  const { rows } = await db.query<{ last: number | null; read: number; due: number[]; busy: number[] }>({
    name: 'sweep-leaders',
    text: `
with page as materialized (
  select l.id, l.handler_id, l.state, l.wake_at, l.blocked
  from leader l
  where l.id > $1
  order by l.id limit $2),
due as (
  select t.id
  from page l join handler h on h.id = l.handler_id and h.paused_at is null cross join lateral (
    select t.id, t.due_at
    from target t
    where t.leader_id = l.id and t.due_at is not null and not t.paused and not t.busy
    order by t.due_at limit 1) t
  where l.state = 0 /* idle */
    or l.state = 2 /* waiting */ and not l.blocked and l.wake_at > greatest(t.due_at, h.hold_until) + interval '1 s'),
busy as (
  select t.id
  from page l join handler h on h.id = l.handler_id join target t on t.leader_id = l.id and t.busy
  where l.state = 0 /* idle */ and ${HAS_ROOM}
  limit $2)
select max(id) as last, count(*)::int as read, array(select id from due) as due, array(select id from busy) as busy
from page`,
    values: [after, limit],
  });
  const { last, read, due, busy } = rows[0]!;
  return { next: read < limit ? null : last, read, due, busy };
};

/**
 * Deletes dispatches whose leader has ended and that gave no sign of life for this long, and so
 * frees their slots.
 */
export const deleteStaleDispatches = async (db: Queryable, olderThanMs: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-stale-dispatches',
    text: `delete from dispatch d using leader l where l.id = d.leader_id and l.state = 0 /* idle */
      and d.seen_at < clock() - $1 * interval '1 ms'`,
    values: [olderThanMs],
  });
  return rowCount ?? 0;
};
