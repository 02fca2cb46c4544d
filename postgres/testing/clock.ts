import type { WokenLeader } from '../grouping/ring';
import { INSTALLATION } from '../installation';
import type { WokenQueuer } from '../lanes/queuer';
import type { Queryable } from '../pool';

/**
 * Statements of the store's clock where a test moves it (`startMuster` of
 * `temporal-muster/testing`), in a database that is that test's.
 */

/** Creates the row that says how far the store's clock is ahead of the server's. */
export const createAhead = async (db: Queryable): Promise<void> => {
  await db.query({ text: `create table clock_ahead as select interval '0' as ahead` });
};

/** Makes all sessions read the store's clock as that row says. */
export const replaceClock = async (db: Queryable): Promise<void> => {
  await db.query({
    text: `
create or replace function clock() returns timestamptz stable language sql as
  $$ select statement_timestamp() + (select ahead from clock_ahead) $$`,
  });
};

/** Returns the store's clock as Unix ms. */
export const readClock = async (db: Queryable): Promise<number> => {
  const { rows } = await db.query<{ nowMs: number }>({
    name: 'read-clock',
    text: `select (extract(epoch from clock()) * 1000)::float8 as "nowMs"`,
  });
  return rows[0]!.nowMs;
};

/**
 * Moves the store's clock by so many ms. What a process lives by (signs of life, leases, marks of
 * calls in flight) moves with it: the process has not been silent meanwhile.
 */
export const moveClock = async (db: Queryable, ms: number): Promise<void> => {
  await db.query({
    name: 'move-clock',
    text: `
with d as materialized (select $1 * interval '1 ms' as ms),
nodes as (update node set seen_at = seen_at + d.ms, answered_at = answered_at + d.ms from d),
leases as (update lease set expires_at = expires_at + d.ms from d),
dispatches as (update dispatch set seen_at = seen_at + d.ms from d),
submitters as (update submitter set expires_at = expires_at + d.ms from d),
chunks as (update chunk set expires_at = expires_at + d.ms from d where expires_at is not null),
calls as (
  update batch set attempt_until = attempt_until + d.ms
  from d
  where attempt_until is not null and reference is null)
update clock_ahead set ahead = ahead + d.ms
from d`,
    values: [ms],
  });
};

/**
 * Returns in how many ms the next leader, queuer, status request or callback is due; null: none is.
 */
export const readNextInstant = async (db: Queryable): Promise<number | null> => {
  const { rows } = await db.query<{ inMs: number | null }>({
    name: 'read-next-instant',
    text: `
select (extract(epoch from min(w.at) - clock()) * 1000)::float8 as "inMs"
from (
  select min(wake_at) as at
  from leader
  where wake_at > clock()
  union all select min(wake_at)
  from queuer
  where wake_at > clock()
  union all select min(poll_at)
  from batch
  where state = 1 /* open */ and reference is not null and poll_at > clock()
  union all select min(next_at)
  from cancellation
  where state = 0 /* requested */ and next_at > clock()
  union all select min(next_at)
  from notification
  where done_at is null and next_at > clock()) w`,
  });
  return rows[0]!.inMs;
};

export interface Unrest {
  /** Leaders and queuers that work, or whose time has come. */
  deciding: number;
  /** Targets with work that no leader was told of yet. */
  unrung: number;
  /** Dispatches and submitters with their calls; status requests and callbacks that are due. */
  calling: number;
}

/** Counts what is under way. */
export const readUnrest = async (db: Queryable): Promise<Unrest> => {
  const { rows } = await db.query<Unrest>({
    name: 'read-unrest',
    text: `
select (
  select count(*)::int
  from leader l
  where (l.state = 1 /* working */ and not exists (select from dispatch d where d.leader_id = l.id))
    or l.wake_at <= clock())
  + (select count(*)::int
     from queuer q
     where (q.state = 1 /* working */ and not exists (select from submitter s where s.queuer_id = q.id))
       or q.wake_at <= clock()) as deciding,
  (select count(*)::int
   from target t join handler h on h.id = t.handler_id join leader l on l.id = t.leader_id
   where not t.paused and not t.busy and h.paused_at is null and (
     (l.state = 0 /* idle */ and greatest(t.due_at, h.hold_until) <= clock())
     or (t.due_at is null and not h.keyed and exists (select from queue q where q.target_id = t.id)))) as unrung,
  (select count(*)::int from dispatch) + (select count(*)::int from submitter)
  + (select count(*)::int from batch where state = 1 /* open */ and reference is not null and poll_at <= clock())
  + (select count(*)::int from cancellation where state = 0 /* requested */ and next_at <= clock())
  + (select count(*)::int from notification where done_at is null and next_at <= clock()) as calling`,
  });
  return rows[0]!;
};

/** Returns the leaders that wait for a time that has come. */
export const findDueLeaders = async (db: Queryable): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'find-due-leaders',
    text: `
select l.id as "leaderId", h.name as handler, l.name, 0::float8 as "dueInMs", ${INSTALLATION} as installation
from leader l join handler h on h.id = l.handler_id
where l.wake_at <= clock()
order by l.wake_at, l.id`,
  });
  return rows;
};

/** Returns the queuers that wait for a time that has come. */
export const findDueQueuers = async (db: Queryable): Promise<WokenQueuer[]> => {
  const { rows } = await db.query<WokenQueuer>({
    name: 'find-due-queuers',
    text: 'select id as "queuerId" from queuer where wake_at <= clock() order by id',
  });
  return rows;
};
