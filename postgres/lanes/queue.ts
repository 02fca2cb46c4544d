import type { StoredLimits } from '../grouping/leader';
import type { LookedUpAtMs } from '../grouping/target';
import { SEQ_STRIDE, tracesOf, versionsOf } from '../grouping/task';
import { WEIGHT_OF_TARGET } from '../limits/inForce';
import type { QueuedTask } from '../../workflows/planning/grouping/orderedQueue';
import type { Client, Queryable } from '../pool';

/**
 * Statements about tasks of ordered handlers that are in no batch yet: one order per lane, across
 * the targets that feed it.
 */

export interface NewLaneTask {
  id: string;
  targetId: number;
  laneId: number;
  payload: string;
  bytes: number;
  weight: number | null;
  recipientId: number | null;
  /** `distinctBy`. */
  key: string | null;
  reads: readonly string[];
  writes: readonly string[];
  version: number | null;
  trace: string | null;
}

/**
 * Inserts tasks into the lanes' queues: after `lockLanes`, in the same transaction, so that the
 * order of numbers is the order of commits. Leaves out ids that exist; returns those that it
 * inserted.
 */
export const insertLaneTasks = async (
  db: Queryable,
  tasks: readonly NewLaneTask[],
  lookedUpAtMs: LookedUpAtMs,
): Promise<Set<string>> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'insert-lane-tasks',
    text: `
with call as materialized (
  select nextval('submit_seq') * ${SEQ_STRIDE} as base,
    check_targets(to_timestamp($13::text::float8 / 1000)) as checked),
new as (
  select call.base + n.i - 1 as seq, n.*
  from call, unnest(
    $1::text[],
    $2::int[],
    $3::int[],
    $4::text[],
    $5::int[],
    $6::float8[],
    $7::int[],
    $8::text[],
    $9::text[],
    $10::text[],
    $11::int[], $12::text[])
    with ordinality
      n (id, target_id, lane_id, payload, bytes, weight, recipient_id, reads, writes, key, version, trace, i)),
stored as (
  insert into task (seq, created_at, target_id, bytes, recipient_id, weight, id, key, payload, version, trace)
  select seq, clock(), target_id, bytes, recipient_id, weight, id, key, payload::json, version, trace
  from new
  order by seq
  on conflict (id) do nothing
  returning seq, id),
queued as (
  insert into lane_queue (lane_id, seq, target_id, ready_at, bytes, weight, key, reads, writes)
  select n.lane_id, n.seq, n.target_id, clock(), n.bytes, n.weight, n.key,
    array(select json_array_elements_text(n.reads::json)), array(select json_array_elements_text(n.writes::json))
  from stored s join new n using (seq))
select id
from stored`,
    values: [
      tasks.map((task) => task.id),
      tasks.map((task) => task.targetId),
      tasks.map((task) => task.laneId),
      tasks.map((task) => task.payload),
      tasks.map((task) => task.bytes),
      tasks.map((task) => task.weight),
      tasks.map((task) => task.recipientId),
      tasks.map((task) => JSON.stringify(task.reads)),
      tasks.map((task) => JSON.stringify(task.writes)),
      tasks.map((task) => task.key),
      versionsOf(tasks),
      tracesOf(tasks),
      String(lookedUpAtMs),
    ],
  });
  return new Set(rows.map((row) => row.id));
};

/** The head of a lane's queue, and what may be cut from it. */
export interface LaneHead {
  laneId: number;
  targetId: number;
  handlerId: number;
  paused: boolean;
  limits: StoredLimits & {
    /** Most weight that may ever be in flight: a heavier batch could never go, so none is cut. */
    weightBudget: number | null;
  };
  flushSeq: number | null;
  nowMs: number;
  /** Batches of the lane that were not sent yet, and all that have not ended. */
  unsent: number;
  open: number;
  /** The first batch that was submitted after the head: the head goes before it. */
  boundary: number | null;
}

/** Returns the heads of lanes that have tasks in no batch. */
export const readLaneHeads = async (db: Queryable, laneIds: readonly number[]): Promise<LaneHead[]> => {
  const { rows } = await db.query<LaneHead>({
    name: 'read-lane-heads',
    text: `
select w.lane_id as "laneId", f.target_id as "targetId", h.id as "handlerId", h.paused_at is not null
  or t.paused as paused, json_build_object(
    'maxItems', coalesce((t.overrides->>'maxItems')::int, h.max_items), 'maxBytes', h.max_bytes, 'overheadBytes',
    h.overhead_bytes, 'maxWeight', h.max_weight, 'minItems', coalesce((t.overrides->>'minItems')::int, h.min_items),
    'lingerMs', coalesce((t.overrides->>'lingerMs')::bigint, h.linger_ms),
    'quietMs', coalesce((t.overrides->>'quietPeriodMs')::bigint, h.quiet_ms),
    'weightBudget', least(${WEIGHT_OF_TARGET}, h.weight_per_handler)) as limits, t.flush_seq as "flushSeq",
  (extract(epoch from clock()) * 1000)::float8 as "nowMs", o.unsent, o.open, o.boundary
from unnest($1::int[]) w (lane_id) cross join lateral (
  select q.target_id, q.seq
  from lane_queue q
  where q.lane_id = w.lane_id
  order by q.seq limit 1) f join target t on t.id = f.target_id join handler h on h.id = t.handler_id
  cross join lateral (
    select count(*) filter (where s.status < 3 /* not sent */)::int as unsent, count(*)::int as open,
      min(s.seq) filter (where s.seq > f.seq) as boundary
    from lane_batch s
    where s.lane_id = w.lane_id and s.status < 10 /* open */) o`,
    values: [laneIds],
  });
  return rows;
};

/** Returns the first tasks of a lane's queue. */
export const readLaneQueue = async (
  db: Queryable,
  laneId: number,
  before: number | null,
  limit: number,
): Promise<QueuedTask[]> => {
  const { rows } = await db.query<QueuedTask>({
    name: 'read-lane-queue',
    text: `
select seq, target_id as "targetId", bytes, weight, key, (extract(epoch from ready_at) * 1000)::float8 as "readyAtMs"
from lane_queue
where lane_id = $1 and ($2::bigint is null or seq < $2)
order by seq limit $3`,
    values: [laneId, before, limit],
  });
  return rows;
};

/**
 * Moves a contiguous prefix of the lane's queue into a batch at the same place: one statement, so
 * that a task is in one place. The batch reads and writes what its tasks do; if one of them
 * declared nothing, neither does the batch: it conflicts with every other.
 */
export const formLaneBatch = async (
  client: Client,
  batch: {
    laneId: number;
    targetId: number;
    handlerId: number;
    reason: number;
    seqs: readonly number[];
    bytes: number;
    weight: number;
  },
): Promise<void> => {
  const { rows } = await client.query<{ n: number }>({
    name: 'form-lane-batch',
    text: `
with taken as (
  delete from lane_queue q
  where q.lane_id = $1 and q.seq = any($5::bigint[])
  returning q.seq, q.attempts, q.reads, q.writes),
formed as (
  insert into batch (target_id, leader_id, epoch, turn, reason, n, members, bytes, weight, created_at)
  values ($2, 0, 0, 0, $4, cardinality($5::bigint[]), $5, $6, $7, clock())
  returning id),
joined as (
  insert into member (seq, batch_id, attempts)
  select t.seq, f.id, t.attempts
  from taken t, formed f
  returning seq),
placed as (
  insert into lane_batch (batch_id, lane_id, target_id, handler_id, seq, changed_at, weight, reads, writes)
  select f.id, $1, $2, $3, $8, clock(), least(10000, greatest(1, round($7::float8)))::int,
    array(select distinct k from taken t cross join lateral unnest(t.reads) k where not u.undeclared order by k),
    array(select distinct k from taken t cross join lateral unnest(t.writes) k where not u.undeclared order by k)
  from formed f, (select bool_or(cardinality(reads) + cardinality(writes) = 0) as undeclared from taken) u)
select count(*)::int as n
from joined`,
    values: [
      batch.laneId,
      batch.targetId,
      batch.handlerId,
      batch.reason,
      batch.seqs,
      batch.bytes,
      batch.weight,
      batch.seqs[0],
    ],
  });
  if (rows[0]?.n !== batch.seqs.length)
    throw new Error(
      `lane ${batch.laneId}: expected to move ${batch.seqs.length} tasks, moved ${rows[0]?.n}; rolled back`,
    );
};

/**
 * Counts a handler's tasks that wait in lanes: in their queues, and in batches that the downstream
 * does not have. Counts all of them, lane by lane.
 */
export const countQueuedInLanes = async (db: Queryable, handlerId: number): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    name: 'count-queued-in-lanes',
    text: `
select coalesce(sum(w.n), 0)::int as n
from (select distinct lane_id from target where handler_id = $1 and lane_id is not null) l cross join lateral (
  select count(*) as n
  from lane_queue q join target t on t.id = q.target_id
  where q.lane_id = l.lane_id and t.handler_id = $1
  union all select coalesce(sum(b.n), 0)
  from lane_batch s join batch b on b.id = s.batch_id
  where s.lane_id = l.lane_id and s.status < 3 /* not sent */ and s.handler_id = $1) w`,
    values: [handlerId],
  });
  return rows[0]!.n;
};

/** Counts the tasks that wait in lanes for each of these targets, as of a handler. */
export const countQueuedInLanesOfTargets = async (
  db: Queryable,
  targetIds: readonly number[],
): Promise<{ targetId: number; n: number }[]> => {
  const { rows } = await db.query<{ targetId: number; n: number }>({
    name: 'count-queued-in-lanes-of-targets',
    text: `
select t.id as "targetId",
  ((select count(*) from lane_queue q where q.lane_id = t.lane_id and q.target_id = t.id) + (
      select coalesce(sum(b.n), 0)
      from lane_batch s join batch b on b.id = s.batch_id
      where s.lane_id = t.lane_id and s.status < 3 /* not sent */ and s.target_id = t.id))::int as n
from target t
where t.id = any($1::int[])`,
    values: [targetIds],
  });
  return rows;
};

/**
 * Marks lanes that have something to send and are not marked: a ring was lost, or the caller died
 * between its commit and its ring. For the sweeper.
 */
export const markForgottenLanes = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'mark-forgotten-lanes',
    text: `
update lane_state s set ready = true
from (
  select lane_id
  from lane_state s
  where not s.ready and s.due_at is null and s.pending = 0 and s.paused_at is null and s.halted_by is null
    and (exists (select from lane_batch o where o.lane_id = s.lane_id and o.status < 3 /* not sent */)
      or exists (select from lane_queue q where q.lane_id = s.lane_id))
  order by lane_id limit $1 for no key update skip locked) f
where s.lane_id = f.lane_id`,
    values: [limit],
  });
  return rowCount ?? 0;
};
