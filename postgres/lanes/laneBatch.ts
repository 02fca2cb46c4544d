import type { LookedUpAtMs } from '../grouping/target';
import { SEQ_STRIDE } from '../grouping/task';
import type { Queryable } from '../pool';

/**
 * Statements that put batches into a lane. They run in one transaction, after `lockLanes`; where it
 * is a caller's, its client reads int8 as text: numbers are `float8`.
 */

export interface NewLaneBatch {
  laneId: number;
  targetId: number;
  handlerId: number;
  tasks: readonly { id: string; payload: string; bytes: number; weight: number | null; recipientId: number | null }[];
  reads: readonly string[];
  writes: readonly string[];
  /** Number of the flush reason. */
  reason: number;
  /** Version of the payloads; null: the first. */
  version: number | null;
  /** The W3C trace context under which it was submitted; null: its trace is not recorded. */
  trace: string | null;
  lookedUpAtMs: LookedUpAtMs;
  /** Place of an ended batch that this one replaces; default: behind all others. */
  seq?: number;
}

export interface InsertedLaneBatch {
  /** Null: some of its task ids exist already, and nothing of it was stored. */
  batchId: number | null;
  seq: number;
}

/**
 * Draws the sequence and stores tasks, batch, members and place in the lane: one statement, so that
 * a task is in one place at any instant.
 */
export const insertLaneBatch = async (db: Queryable, s: NewLaneBatch): Promise<InsertedLaneBatch> => {
  const { rows } = await db.query<InsertedLaneBatch>({
    name: 'insert-lane-batch',
    text: `
with call as materialized (
  select nextval('submit_seq') * ${SEQ_STRIDE} as base, nextval('batch_id_seq') as id,
    check_targets(to_timestamp($15::text::float8 / 1000)) as checked),
new as (
  select call.base + n.i - 1 as seq, n.*
  from call, unnest(
    $1::text[], $2::text[], $3::int[], $4::float8[],
    $5::int[]) with ordinality n (id, payload, bytes, weight, recipient_id, i)),
stored as (
  insert into task (seq, created_at, target_id, bytes, recipient_id, weight, id, payload, version, trace)
  select seq, clock(), $6, bytes, recipient_id, weight, id, payload::json, $13::int, $14::text
  from new
  order by seq
  on conflict (id) do nothing
  returning seq),
complete as (
  select call.*
  from call
  where (select count(*) from stored) = cardinality($1::text[])),
formed as (
  insert into batch (
    id, target_id, leader_id, epoch, turn, reason, n, members, bytes, weight, created_at) overriding system value
  select c.id, $6, 0, 0, 0, $7::smallint, cardinality($1::text[]), array(select seq from new order by seq),
    (select sum(bytes) from new), (select sum(coalesce(weight, 1)) from new), clock()
  from complete c
  returning id, weight),
joined as (insert into member (seq, batch_id, attempts) select n.seq, f.id, 0 from new n, formed f),
placed as (
  insert into lane_batch (batch_id, lane_id, target_id, handler_id, seq, changed_at, weight, reads, writes)
  select f.id, $8, $6, $9, coalesce($12::bigint, call.base), clock(), least(10000, greatest(1, round(f.weight)))::int,
    $10::text[], $11::text[]
  from formed f, call)
select (select id from formed)::float8 as "batchId", call.base::float8 as seq
from call`,
    values: [
      s.tasks.map((task) => task.id),
      s.tasks.map((task) => task.payload),
      s.tasks.map((task) => task.bytes),
      s.tasks.map((task) => task.weight),
      s.tasks.map((task) => task.recipientId),
      s.targetId,
      s.reason,
      s.laneId,
      s.handlerId,
      s.reads,
      s.writes,
      s.seq ?? null,
      s.version,
      s.trace,
      String(s.lookedUpAtMs),
    ],
  });
  return rows[0]!;
};

export interface DependedOn {
  batchId: number;
  status: number;
  service: string;
}

/**
 * Returns the states of the batches to depend on, locked until this transaction ends: one that ends
 * meanwhile waits, and then finds the dependency that is about to be written.
 */
export const lockDependedOn = async (db: Queryable, batchIds: readonly number[]): Promise<DependedOn[]> => {
  const { rows } = await db.query<DependedOn>({
    name: 'lock-depended-on',
    text: `
select s.batch_id as "batchId", s.status, l.service
from lane_batch s join lane l on l.id = s.lane_id
where s.batch_id = any($1::bigint[])
order by s.batch_id for share of s`,
    values: [batchIds],
  });
  return rows;
};

export const insertDependencies = async (
  db: Queryable,
  pairs: readonly { batchId: number; needs: number }[],
): Promise<void> => {
  await db.query({
    name: 'insert-dependencies',
    text: 'insert into dependency (batch_id, needs) select * from unnest($1::bigint[], $2::bigint[])',
    values: [pairs.map((pair) => pair.batchId), pairs.map((pair) => pair.needs)],
  });
};

/**
 * Returns the batch in which some stored tasks were submitted, and each task's place; for a
 * repeated call.
 */
export const findGiven = async (
  db: Queryable,
  ids: readonly string[],
): Promise<{ id: string; batchId: number | null; place: number; n: number; seq: number }[]> => {
  const { rows } = await db.query<{ id: string; batchId: number | null; place: number; n: number; seq: number }>({
    name: 'find-given',
    text: `
select t.id, b.id::float8 as "batchId", array_position(b.members, t.seq) as place, b.n,
  b.members[1]::float8 as seq
from task t left join lateral (
  select b.id, b.n, b.members
  from batch b
  where b.reason = 9 /* given */ and b.members[1] = t.seq / ${SEQ_STRIDE} * ${SEQ_STRIDE} limit 1) b on true
where t.id = any($1::text[])`,
    values: [ids],
  });
  return rows;
};
