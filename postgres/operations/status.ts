import type { Overrides } from '../../workflows/planning/limits/limits';
import type { Queryable } from '../pool';

/**
 * The parts of `status`, each for one handler (by id) or for all; read in one snapshot
 * (`inSnapshot`).
 */

export interface HandlerFacts {
  id: number;
  name: string;
  pausedAt: Date | null;
  pauseReason: string | null;
  /** Null: not held, or no longer. */
  holdUntil: Date | null;
  inFlightCalls: number;
  pausedTargets: number;
  /** Limits that were set at run time; null: none. */
  limitsSet: Overrides | null;
  /** The limit that it shares with other handlers; null: none. */
  sharesLimit: string | null;
}

export const readHandlers = async (db: Queryable, handlerId: number | null): Promise<HandlerFacts[]> => {
  const { rows } = await db.query<HandlerFacts>({
    name: 'read-handlers',
    text: `
select h.id, h.name, h.paused_at as "pausedAt", h.pause_reason as "pauseReason",
  case when h.hold_until > clock() then h.hold_until end as "holdUntil",
  (select count(*)::int
   from (
     select from leader l join batch b on b.leader_id = l.id and b.state = 1 /* open */
     where l.handler_id = h.id and b.attempt_until is not null
       and b.dispatch is not null limit 100000) b) as "inFlightCalls",
  (select count(*)::int from target t where t.handler_id = h.id and t.paused) as "pausedTargets", 
  h.limits as "limitsSet", (select s.name from shared_limit s where s.id = h.shares) as "sharesLimit"
from handler h
where $1::int is null or h.id = $1
order by h.name`,
    values: [handlerId],
  });
  return rows;
};

/** Counts all tasks in the store: reads the whole task table. */
export const countAccepted = async (
  db: Queryable,
  handlerId: number | null,
): Promise<{ handlerId: number; n: number }[]> => {
  const { rows } = await db.query<{ handlerId: number; n: number }>({
    name: 'count-accepted',
    text: `
select t.handler_id as "handlerId", sum(k.n)::bigint as n
from (select target_id, count(*) as n from task group by 1) k join target t on t.id = k.target_id
where $1::int is null or t.handler_id = $1
group by 1`,
    values: [handlerId],
  });
  return rows;
};

export interface LeaderFacts {
  id: number;
  handlerId: number;
  handler: string;
  name: string;
  state: number;
  epoch: number;
  wakeInMs: number | null;
  expiresInMs: number | null;
  /** Time since it was woken; null: it has taken a turn since. */
  unansweredMs: number | null;
  runId: string | null;
}

/**
 * Most leaders read per handler: with one per target there may be any number. Those that do not
 * answer come first.
 */
const LEADERS = 1_000;

export const readLeaders = async (db: Queryable, handlerId: number | null): Promise<LeaderFacts[]> => {
  const { rows } = await db.query<LeaderFacts>({
    name: 'read-leaders',
    text: `
select l.id, h.id as "handlerId", h.name as handler, l.name, l.state, l.epoch,
  (extract(epoch from l.wake_at - clock()) * 1000)::float8 as "wakeInMs",
  (extract(epoch from l.expires_at - clock()) * 1000)::float8 as "expiresInMs",
  (extract(epoch from clock() - l.woken_at) * 1000)::float8 as "unansweredMs", l.holder as "runId"
from handler h cross join lateral (
  select id, name, state, epoch, wake_at, expires_at, case when state = 1 /* working */ then woken_at end as woken_at,
    holder
  from leader l
  where l.handler_id = h.id
  order by case when state = 1 /* working */ then woken_at end, id limit ${LEADERS}) l
where $1::int is null or h.id = $1
order by h.id, l.id`,
    values: [handlerId],
  });
  return rows;
};

/** Returns the handlers whose tasks go through lanes, and so through a queuer. */
export const handlersWithLanes = async (db: Queryable): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'handlers-with-lanes',
    text: 'select h.id from handler h where exists (select from lane l where l.handler_id = h.id)',
  });
  return rows.map(({ id }) => id);
};

/** Returns a handler's limits: those of a target without overrides. */
export const readLimits = async (db: Queryable, handlerId: number): Promise<{ maxItems: number }> => {
  const { rows } = await db.query<{ maxItems: number }>({
    name: 'read-limits',
    text: 'select max_items as "maxItems" from handler where id = $1',
    values: [handlerId],
  });
  return rows[0]!;
};
