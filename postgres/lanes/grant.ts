import { UNLIMITED_CALLS as UNLIMITED } from '../../workflows/planning/lanes/tokens';
import type { Client, Queryable } from '../pool';

/**
 * The statements of one grant, in their order; `activities/lanes/grant.ts` runs them in one
 * transaction under the queuer's lock.
 */

/** What a grant knows of a lane that may have something to send. */
export interface LaneFacts {
  id: number;
  service: string;
  kind: number;
  approach: number;
  onInvalid: number;
  pendingLimit: number | null;
  weight: number;
  deficit: number;
  served: number;
  pending: number;
  saturated: boolean;
  holdInMs: number | null;
  /** Null: any node that has the handler serves it. */
  partition: string | null;
}

/**
 * Locks the lanes to choose from, in id order: chosen by the round in which they are due, or by the
 * place of what they send next (`single`). Reads the index of ready lanes, so that idle lanes cost
 * nothing. Checks the locked rows again for a pause or halt that was written while this waited for
 * the lock.
 */
export const lockReadyLanes = async (
  client: Client,
  queuerId: number,
  limit: number,
  bySequence: boolean,
): Promise<{ lanes: LaneFacts[]; more: boolean }> => {
  const { rows: found } = await client.query<{ id: number }>({
    ...(bySequence ? BY_SEQUENCE : BY_ROUND),
    values: [queuerId, limit + 1],
  });
  const ids = found.slice(0, limit).map(({ id }) => id);
  if (ids.length === 0) return { lanes: [], more: false };
  const { rows } = await client.query<LaneFacts>({
    name: 'lock-ready-lanes',
    text: `
select l.id, l.service, l.kind, l.approach, l.on_invalid as "onInvalid", l.pending_limit as "pendingLimit", s.weight,
  s.deficit, s.served, s.pending, s.saturated,
  (extract(epoch from s.hold_until - clock()) * 1000)::float8 as "holdInMs", case
    when h.partitions > 0 then l.partition end as partition
from lane_state s join lane l on l.id = s.lane_id join handler h on h.id = l.handler_id
  where s.lane_id = any($1::int[]) and s.paused_at is null and s.halted_by is null
order by s.lane_id for no key update of s`,
    values: [ids],
  });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return { lanes: ids.flatMap((id) => byId.get(id) ?? []), more: found.length > limit };
};
const BY_ROUND = {
  name: 'find-ready-lanes',
  text: `
select s.lane_id as id
from lane_state s
where s.queuer_id = $1 and s.ready and s.paused_at is null and s.halted_by is null
order by s.served, s.lane_id limit $2`,
};
const BY_SEQUENCE = {
  name: 'find-ready-lanes-by-sequence',
  text: `
select s.lane_id as id
from lane_state s cross join lateral (
  select least(
    (select min(o.seq) from lane_batch o where o.lane_id = s.lane_id and o.status < 3 /* not sent */),
    (select min(q.seq) from lane_queue q where q.lane_id = s.lane_id)) as seq) h
where s.queuer_id = $1 and s.ready and s.paused_at is null and s.halted_by is null
order by h.seq, s.lane_id limit $2`,
};

/**
 * A batch that is granted again within this, not called meanwhile, has been granted since the first
 * time: each activity was lost before it began. After longer it waited for something else.
 */
const SAME_GRANT = '10 s';

/** What holds back an open batch of a lane, but for its state keys. */
export interface OpenFacts {
  laneId: number;
  id: number;
  seq: number;
  status: number;
  resolving: boolean;
  weight: number;
  notBeforeInMs: number | null;
  waitsFor: number[];
  failedOn: number | null;
  handler: string;
  handlerId: number;
  /** Longest that its call may take. */
  timeoutMs: number;
  targetId: number;
  /** Sum of its tasks' weights; `weight` is its cost in the shares. */
  load: number;
  /**
   * The handler has limits of calls, rates or weight in flight, or back pressure left it or the
   * target fewer calls.
   */
  limited: boolean;
  /** The batch's handler or target is paused; a resume rings the lane. */
  paused: boolean;
  n: number;
  /** Time since it got its status. */
  ageMs: number;
  /** Since it was first granted, if each activity since then was lost before it called; else 0. */
  inVainMs: number;
}

/** An open batch of a lane, with what holds it back. */
export interface OpenBatch extends OpenFacts {
  reads: string[];
  writes: string[];
}

/**
 * Of an open dependency `o` of a batch `s` of handler `h`: the downstream keeps them in order, and
 * has the first.
 */
const HANDED_OVER = `h.hands_dependencies and o.handler_id = s.handler_id
      and o.status in (4 /* pending */, 5 /* valid */)`;

/** Selects the first open batches of lanes, with these columns of keys. */
export const openBatches = (keys: string): string => `
select s.lane_id as "laneId", s.batch_id as id, s.seq, s.status, s.resolving, ${keys} s.weight,
  h.name as handler, h.id as "handlerId", h.timeout_ms as "timeoutMs", s.target_id as "targetId", b.weight as load,
  b.n, h.per_target < ${UNLIMITED} or h.per_handler < ${UNLIMITED} or h.weight_per_target is not null
  or h.weight_per_handler is not null or h.rates <> '[]' or h.allowed is not null or t.allowed is not null
  or t.limits is not null as limited,
  (extract(epoch from clock() - s.changed_at) * 1000)::float8 as "ageMs",
  case when s.granted_attempt = b.attempt
    and s.changed_at > clock() - interval '${SAME_GRANT}' then (extract(
      epoch from clock() - s.granted_at) * 1000)::float8 else 0 end as "inVainMs",
  (extract(epoch from greatest(s.not_before, h.hold_until, t.hold_until) - clock()) * 1000)::float8 as "notBeforeInMs",
  h.paused_at is not null or t.paused as paused, array(
    select d.needs
    from dependency d join lane_batch o on o.batch_id = d.needs and o.status < 10 /* open */
    where d.batch_id = s.batch_id and not (${HANDED_OVER})) as "waitsFor",
  (select d.needs
   from dependency d join lane_batch o on o.batch_id = d.needs and o.status > 10 /* ended without a commit */
   where d.batch_id = s.batch_id limit 1) as "failedOn"
from unnest($1::int[], $2::int[]) w (lane_id, n) cross join lateral (
  select *
  from lane_batch s
  where s.lane_id = w.lane_id and s.status < 10 /* open */ and s.status <> 7 /* refused */
  order by s.seq limit w.n) s join batch b on b.id = s.batch_id join handler h on h.id = s.handler_id
  join target t on t.id = s.target_id
order by s.lane_id, s.seq`;
const WITH_KEYS = openBatches('s.reads, s.writes,');

/**
 * Returns the first open batches of each lane, in order and without a gap (except those of status
 * refused, which block nothing): after the lock, in a new snapshot.
 */
export const readOpenBatches = async (
  db: Queryable,
  laneIds: readonly number[],
  windows: readonly number[],
): Promise<OpenBatch[]> => {
  const { rows } = await db.query<OpenBatch>({
    name: 'read-open-batches',
    text: WITH_KEYS,
    values: [laneIds, windows],
  });
  return rows;
};

/**
 * Puts batches in flight, in the hands of these submitters. Throws if one of them was not as the
 * plan saw it.
 */
export const grantBatches = async (
  client: Client,
  grants: readonly { id: number; from: number; submitter: number; startInMs: number }[],
): Promise<void> => {
  const { rows } = await client.query<{ n: number }>({
    name: 'grant-batches',
    text: `
with g as materialized (
  select *
  from unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::float8[]) g (id, was, submitter, start_ms)),
given as (
  update lane_batch s set status = 3 /* submitted */, resolving = g.was = 2, submitter = g.submitter,
    not_before = null, changed_at = clock(), granted_attempt = b.attempt,
    granted_at = case when s.granted_attempt = b.attempt
      and s.changed_at > clock() - interval '${SAME_GRANT}' then s.granted_at else clock() end
  from g join batch b on b.id = g.id
  where s.batch_id = any($1::bigint[]) and s.batch_id = g.id and s.status = g.was
  returning s.batch_id),
carried as (
  update batch b set dispatch = g.submitter,
    retry_at = case when g.start_ms > 0 then clock() + g.start_ms * interval '1 ms' end
  from g join given v on v.batch_id = g.id
  where b.id = any($1::bigint[]) and b.id = g.id and b.state = 1 /* open */
  returning b.id)
select count(*)::int as n
from carried`,
    values: [
      grants.map((grant) => grant.id),
      grants.map((grant) => grant.from),
      grants.map((grant) => grant.submitter),
      grants.map((grant) => grant.startInMs),
    ],
  });
  if (rows[0]?.n !== grants.length)
    throw new Error(`grant: expected to grant ${grants.length} batches, granted ${rows[0]?.n}; rolled back`);
};

export interface LaneChange {
  lane_id: number;
  deficit: number;
  served: number;
  pending: number;
  saturated: boolean;
  ready: boolean;
  due_in_ms: number | null;
  granted: number;
  halted_by: number | null;
  halt_reason: string | null;
  blocked_by: number | null;
  unserved_by: readonly number[] | null;
}

export const updateLanes = async (client: Client, lanes: readonly LaneChange[]): Promise<void> => {
  await client.query({
    name: 'update-lanes',
    text: `
update lane_state s set deficit = p.deficit, served = p.served, pending = p.pending, saturated = p.saturated,
  ready = p.ready,
  due_at = clock() + p.due_in_ms * interval '1 ms', granted = s.granted + p.granted, blocked_by = p.blocked_by,
    unserved_by = p.unserved_by,
  halted_by = p.halted_by, halt_reason = p.halt_reason, halted_at = case
    when p.halted_by is not null then coalesce(s.halted_at, clock()) end
from json_to_recordset($1) p (lane_id int, deficit bigint, served bigint, pending int, saturated bool, ready bool,
  due_in_ms float8, granted int, halted_by bigint, halt_reason text, blocked_by int, unserved_by int[])
where s.lane_id = any($2::int[]) and s.lane_id = p.lane_id`,
    values: [JSON.stringify(lanes), lanes.map((lane) => lane.lane_id)],
  });
};

export const updateRound = async (client: Client, queuerId: number, round: number, grants: number): Promise<void> => {
  await client.query({
    name: 'update-round',
    text: 'update queuer set round = $2, grants = grants + $3 where id = $1',
    values: [queuerId, round, grants],
  });
};

/** Returns in how many ms the next lane becomes ready by time alone. Null: none does. */
export const nextLaneDue = async (
  db: Queryable,
  queuerId: number,
): Promise<{ nowMs: number; dueInMs: number | null }> => {
  const { rows } = await db.query<{ nowMs: number; dueInMs: number | null }>({
    name: 'next-lane-due',
    text: `
select (extract(epoch from clock()) * 1000)::float8 as "nowMs", (extract(epoch
  from min(s.due_at) - clock()) * 1000)::float8 as "dueInMs"
from lane_state s
where s.queuer_id = $1 and s.due_at is not null and not s.ready and s.paused_at is null and s.halted_by is null`,
    values: [queuerId],
  });
  return rows[0]!;
};

/**
 * Says whether a free slot may find work: `ready` now, or perhaps `soon`, since the next batch of a
 * lane waits for one that is in flight.
 */
export const lookForReady = async (db: Queryable, queuerId: number): Promise<{ ready: boolean; soon: boolean }> => {
  const { rows } = await db.query<{ ready: boolean; soon: boolean }>({
    name: 'look-for-ready',
    text: `
select exists (
  select from lane_state s
  where s.queuer_id = $1 and s.ready and s.paused_at is null and s.halted_by is null)
  or exists (
    select from lane_state s
    where s.queuer_id = $1 and not s.ready and s.due_at <= clock() and s.paused_at is null
      and s.halted_by is null) as ready, exists (select from lane_batch o where o.status = 3 /* submitted */)
  or exists (
    select from batch b
    where b.reference is not null and b.state = 1 /* open */ and b.poll_at is not null) as soon`,
    values: [queuerId],
  });
  return rows[0]!;
};
