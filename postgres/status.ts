import type { Queryable } from './pool';

/** What `status` is made of, each for one handler (by id) or for all; read in one snapshot (`inSnapshot`). */

export interface HandlerFacts {
  id: number;
  name: string;
  pausedAt: Date | null;
  pauseReason: string | null;
  /** Null: not held, or no longer. */
  holdUntil: Date | null;
  inFlightCalls: number;
}

export const readHandlers = async (db: Queryable, handlerId: number | null): Promise<HandlerFacts[]> => {
  const { rows } = await db.query<HandlerFacts>({
    name: 'read-handlers',
    text: `
select h.id, h.name, h.paused_at as "pausedAt", h.pause_reason as "pauseReason", case when h.hold_until > clock() then h.hold_until end as "holdUntil",
  (select count(*)::int from leader l join batch b on b.leader_id = l.id and b.state = 1 where l.handler_id = h.id
    and b.attempt_until is not null and b.dispatch is not null) as "inFlightCalls"
from handler h where $1::int is null or h.id = $1 order by h.name`,
    values: [handlerId],
  });
  return rows;
};

/** Tasks by state. */
export const countStates = async (
  db: Queryable,
  handlerId: number | null,
): Promise<{ handlerId: number; state: number; n: number }[]> => {
  const { rows } = await db.query<{ handlerId: number; state: number; n: number }>({
    name: 'count-states',
    text: `
select t.handler_id as "handlerId", c.state, sum(c.n)::bigint as n from state_count c join target t on t.id = c.target_id
where $1::int is null or t.handler_id = $1 group by 1, 2`,
    values: [handlerId],
  });
  return rows;
};

/** All tasks in the store, counted: reads the whole task table. */
export const countAccepted = async (
  db: Queryable,
  handlerId: number | null,
): Promise<{ handlerId: number; n: number }[]> => {
  const { rows } = await db.query<{ handlerId: number; n: number }>({
    name: 'count-accepted',
    text: `
select t.handler_id as "handlerId", sum(k.n)::bigint as n from (select target_id, count(*) as n from task group by 1) k join target t on t.id = k.target_id
where $1::int is null or t.handler_id = $1 group by 1`,
    values: [handlerId],
  });
  return rows;
};

export const readOldestQueued = async (
  db: Queryable,
  handlerId: number | null,
): Promise<{ handlerId: number; ageMs: number }[]> => {
  const { rows } = await db.query<{ handlerId: number; ageMs: number }>({
    name: 'read-oldest-queued',
    text: `
select t.handler_id as "handlerId", greatest(0, extract(epoch from clock() - min(q.oldest)) * 1000)::float8 as "ageMs"
from (select target_id, min(ready_at) as oldest from queue group by 1) q join target t on t.id = q.target_id
where $1::int is null or t.handler_id = $1 group by 1`,
    values: [handlerId],
  });
  return rows;
};

export interface LeaderFacts {
  handlerId: number;
  name: string;
  state: number;
  epoch: number;
  wakeInMs: number | null;
  expiresInMs: number | null;
}

export const readLeaders = async (db: Queryable, handlerId: number | null): Promise<LeaderFacts[]> => {
  const { rows } = await db.query<LeaderFacts>({
    name: 'read-leaders',
    text: `
select handler_id as "handlerId", name, state, epoch, (extract(epoch from wake_at - clock()) * 1000)::float8 as "wakeInMs",
  (extract(epoch from expires_at - clock()) * 1000)::float8 as "expiresInMs"
from leader where $1::int is null or handler_id = $1 order by handler_id, id`,
    values: [handlerId],
  });
  return rows;
};

export const countFlushReasons = async (
  db: Queryable,
  handlerId: number | null,
): Promise<{ handlerId: number; reason: number; n: number }[]> => {
  const { rows } = await db.query<{ handlerId: number; reason: number; n: number }>({
    name: 'count-flush-reasons',
    text: `
select t.handler_id as "handlerId", b.reason, sum(b.n)::bigint as n from (select target_id, reason, count(*) as n from batch group by 1, 2) b
join target t on t.id = b.target_id where $1::int is null or t.handler_id = $1 group by 1, 2 order by 1, 2`,
    values: [handlerId],
  });
  return rows;
};

/** What a target has where it overrides nothing. */
export const readLimits = async (db: Queryable, handlerId: number): Promise<{ maxItems: number }> => {
  const { rows } = await db.query<{ maxItems: number }>({
    name: 'read-limits',
    text: 'select max_items as "maxItems" from handler where id = $1',
    values: [handlerId],
  });
  return rows[0]!;
};
