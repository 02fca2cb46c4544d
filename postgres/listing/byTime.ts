import type { Queryable } from '../pool';
import type { ListScope } from './waiting';

/** Statements that list waiting tasks of a handler in the order in which they were accepted. */

/** A task that waits, outside of lanes; `matches`: it is of the scope. */
export interface WaitingByTime {
  place: 'queue' | 'delayed' | 'held';
  seq: number;
  matches: boolean;
}

/** Each priority of a target after the one that comes first, found by one look into the index. */
const FURTHER = `
    with recursive p (priority) as (
      select f.priority
      union all
      select (
        select q.priority
        from queue q
        where q.target_id = t.id and q.priority > p.priority
        order by q.priority limit 1)
      from p
      where p.priority is not null)
    select p.priority
    from p
    where p.priority > f.priority`;

const ofScope = (row: string): string => `(
    select t.handler_id = $1 and ($2::text is null or t.key = $2)
    from target t
    where t.id = ${row}.target_id)`;

/**
 * Part of statements. No index of the queue is by time alone, since each submit would pay for it:
 * the first task per target and priority is looked up, and a page comes from as many of these lists
 * as it has tasks, those that begin first. The other tables are read as far as that page reaches.
 * All places are read in one snapshot: a task is in one.
 */
const listing = (past: '<' | '>', end: '>=' | '<=', order: '' | ' desc'): string => `
with heads as materialized (
  select t.id, p.priority, h.seq
  from target t cross join lateral (
    select q.priority, exists (
      select from queue o
      where o.target_id = t.id and o.priority > q.priority) as more
    from queue q
    where q.target_id = t.id
    order by q.priority limit 1) f
    cross join lateral (select f.priority union all select r.priority from (${FURTHER}) r where f.more) p
    cross join lateral (
    select q.seq
    from queue q
    where q.target_id = t.id and q.priority = p.priority and q.seq ${past} $3::bigint and q.seq ${end} $6::bigint
    order by q.seq${order} limit 1) h
  where t.handler_id = $1 and ($2::text is null or t.key = $2)
  order by h.seq${order} limit $4),
queued as materialized (
  select q.seq
  from heads h cross join lateral (
    select q.seq
    from queue q
    where q.target_id = h.id and q.priority = h.priority and q.seq ${past} $3::bigint and q.seq ${end} $6::bigint
    order by q.seq${order} limit $4) q
  order by q.seq${order} limit $4),
reach as materialized (
  select case when count(*) = $4 then ${order === '' ? 'max' : 'min'}(q.seq) else $6 end as seq
  from queued q),
later as (
  select d.seq, d.target_id
  from delayed d
  where d.seq ${past} $3::bigint and d.seq ${end} (select r.seq from reach r)
  order by d.seq${order} limit $5),
kept as (
  select h.seq, h.target_id
  from held h
  where h.seq ${past} $3::bigint and h.seq ${end} (select r.seq from reach r)
  order by h.seq${order} limit $5)
select 'queue' as place, q.seq, true as matches
from queued q
union all select 'delayed' as place, d.seq, ${ofScope('d')} as matches
from later d
union all select 'held' as place, h.seq, ${ofScope('h')} as matches
from kept h`;

type Read = (
  db: Queryable,
  scope: ListScope,
  place: number,
  limits: { queued: number; looked: number; end: number },
) => Promise<WaitingByTime[]>;

const reading =
  (name: string, text: string): Read =>
  async (db, { handlerId, target }, place, { queued, looked, end }) => {
    const values = [handlerId, target, place, queued, looked, end];
    const { rows } = await db.query<WaitingByTime>({ name, text, values });
    return rows;
  };

/** Lists those that were accepted before a seq, down to the one of `end`. */
export const listWaitingBefore = reading('list-waiting-before', listing('<', '>=', ' desc'));
/** Lists those that were accepted after a seq, up to the one of `end`. */
export const listWaitingAfter = reading('list-waiting-after', listing('>', '<=', ''));

/**
 * Part of statements: looks at so many tasks of all handlers as they were accepted, and finds those
 * of the handler that wait. Where most of the tasks there do, that is a page after few looks. Not
 * by "exists", which some plans answer by a look at all that wait.
 */
const walking = (past: '<' | '>', end: '>=' | '<=', order: '' | ' desc'): string => `
select k.seq
from (
  select k.seq, k.target_id, k.priority
  from task k
  where k.seq ${past} $2::bigint and k.seq ${end} $5::bigint
  order by k.seq${order} limit $4) k
where (select t.handler_id from target t where t.id = k.target_id) = $1
  and coalesce((
    select q.seq
    from queue q
    where q.target_id = k.target_id and q.priority = k.priority and q.seq = k.seq), (
    select d.seq
    from delayed d
    where d.seq = k.seq), (
    select h.seq
    from held h
    where h.seq = k.seq)) is not null
order by k.seq${order} limit $3`;

type Walk = (
  db: Queryable,
  handlerId: number,
  place: number,
  limits: { page: number; looked: number; end: number },
) => Promise<number[]>;

const walk =
  (name: string, text: string): Walk =>
  async (db, handlerId, place, { page, looked, end }) => {
    const { rows } = await db.query<{ seq: number }>({ name, text, values: [handlerId, place, page, looked, end] });
    return rows.map(({ seq }) => seq);
  };

/** Lists those that wait among the tasks accepted last before a seq. */
export const walkWaitingBefore = walk('walk-waiting-before', walking('<', '>=', ' desc'));
/** Lists those that wait among the tasks accepted first after a seq. */
export const walkWaitingAfter = walk('walk-waiting-after', walking('>', '<=', ''));

/** Says whether the tasks of a handler wait in lanes, which have an order. */
export const isOrdered = async (db: Queryable, handlerId: number): Promise<boolean> => {
  const { rows } = await db.query<{ ordered: boolean }>({
    name: 'is-ordered',
    text: 'select coalesce(ordered, false) as ordered from handler where id = $1',
    values: [handlerId],
  });
  return rows[0]!.ordered;
};
