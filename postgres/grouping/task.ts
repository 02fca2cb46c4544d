import type { Queryable } from '../pool';
import { insertExpiries } from './expiry';
import type { Labels } from './labels';
import type { LookedUpAtMs } from './target';
import { insertLabels } from './labels';

/** Most tasks per call: `seq = submit_seq * 16384 + place` must not run into the next call's. */
export const SEQ_STRIDE = 16_384;

/** A checked task, ready to be stored. `payload` is JSON text. */
export interface NewTask {
  id: string;
  targetId: number;
  payload: string;
  bytes: number;
  /** null: 1. */
  weight: number | null;
  key: string | null;
  priority: number;
  recipientId: number | null;
  /** Unix ms; null: ready now. */
  notBeforeMs: number | null;
  /** Unix ms after which it is not sent any more if it still waits; null: never. */
  expiresAtMs: number | null;
  /** Version of the payload; null: the first. */
  version: number | null;
  /** The W3C trace context under which it was submitted; null: its trace is not recorded. */
  trace: string | null;
  /** Null: it has none. */
  labels: Labels | null;
}

export interface StoredTask {
  id: string;
  payload: string;
  handler: string;
  target: string;
  version: number | null;
}

/** Returns the versions of tasks for `unnest`, which pads: an empty list is the first of all. */
export const versionsOf = (tasks: readonly { version: number | null }[]): readonly (number | null)[] =>
  tasks.some(({ version }) => version !== null) ? tasks.map(({ version }) => version) : [];

/** Returns the trace contexts of tasks for `unnest`, in the same way. */
export const tracesOf = (tasks: readonly { trace: string | null }[]): readonly (string | null)[] =>
  tasks.some(({ trace }) => trace !== null) ? tasks.map(({ trace }) => trace) : [];

/**
 * Inserts tasks in one statement, leaving out ids that exist; returns the inserted ids. For a few
 * tasks, or inside a caller's transaction (COPY cannot skip a repeated id).
 */
export const insertTasks = async (
  db: Queryable,
  tasks: readonly NewTask[],
  lookedUpAtMs: LookedUpAtMs,
): Promise<Set<string>> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'insert-tasks',
    text: `
with call as materialized (
  select nextval('submit_seq') * 16384 as base, check_targets(to_timestamp($12::text::float8 / 1000)) as checked),
new as (
  select call.base + n.i - 1 as seq, n.*
  from call, unnest(
    $1::text[],
    $2::int[],
    $3::text[],
    $4::int[],
    $5::float8[],
    $6::text[],
    $7::smallint[],
    $8::int[],
    $9::float8[],
    $10::int[],
    $11::text[])
    with ordinality
      n (id, target_id, payload, bytes, weight, key, priority, recipient_id, not_before_ms, version, trace, i)),
stored as (
  insert into task (seq, created_at, target_id, bytes, priority, recipient_id, weight, id, key, payload, version, trace)
  select seq, clock(), target_id, bytes, priority, recipient_id, weight, id, key, payload::json, version, trace
  from new
  order by seq
  on conflict (id) do nothing
  returning seq, id),
queued as (
  insert into queue (target_id, priority, seq, ready_at, bytes, weight, key)
  select n.target_id, n.priority, n.seq, clock(), n.bytes, n.weight, n.key
  from stored s join new n using (seq)
  where n.not_before_ms is null or to_timestamp(n.not_before_ms / 1000) <= clock()),
waiting as (
  insert into delayed (target_id, priority, seq, not_before, bytes, weight, key)
  select n.target_id, n.priority, n.seq, to_timestamp(n.not_before_ms / 1000), n.bytes, n.weight, n.key
  from stored s join new n using (seq)
  where to_timestamp(n.not_before_ms / 1000) > clock())
select id
from stored`,
    values: [
      tasks.map((task) => task.id),
      tasks.map((task) => task.targetId),
      tasks.map((task) => task.payload),
      tasks.map((task) => task.bytes),
      tasks.map((task) => task.weight),
      tasks.map((task) => task.key),
      tasks.map((task) => task.priority),
      tasks.map((task) => task.recipientId),
      tasks.map((task) => task.notBeforeMs),
      versionsOf(tasks),
      tracesOf(tasks),
      String(lookedUpAtMs),
    ],
  });
  const stored = new Set(rows.map((row) => row.id));
  await insertBeside(
    db,
    tasks.filter(({ id }) => stored.has(id)),
  );
  return stored;
};

/** Writes down what only few tasks have, in other tables: the rest pays nothing for it. */
export const insertBeside = async (db: Queryable, tasks: readonly NewTask[]): Promise<void> => {
  await insertExpiries(db, tasks);
  await insertLabels(db, tasks);
};

/**
 * Returns the stored content of those of the ids that exist, to tell "the same task again" from
 * "another task with that id".
 */
export const findTasks = async (db: Queryable, ids: readonly string[]): Promise<StoredTask[]> => {
  const { rows } = await db.query<StoredTask>({
    name: 'find-tasks',
    text: `
select t.id, t.payload::text as payload, t.version, h.name as handler, g.key as target
from task t join target g on g.id = t.target_id join handler h on h.id = g.handler_id
where t.id = any($1::text[])`,
    values: [ids],
  });
  return rows;
};

/**
 * Counts waiting tasks, up to `limit + 1`: of one handler, or of each of the targets. `::int`,
 * because a caller's client reads int8 as text.
 */
export const countQueued = async (db: Queryable, handlerId: number, limit: number): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    name: 'count-queued',
    text: `
select count(*)::int as n
from (
  select from target t cross join lateral (
    select from queue q
    where q.target_id = t.id
    union all select from delayed d
    where d.target_id = t.id
    union all select from held x
    where x.target_id = t.id) w
  where t.handler_id = $1 limit $2 + 1) w`,
    values: [handlerId, limit],
  });
  return rows[0]!.n;
};

export const countQueuedOfTargets = async (
  db: Queryable,
  targetIds: readonly number[],
  limit: number,
): Promise<{ targetId: number; n: number }[]> => {
  const { rows } = await db.query<{ targetId: number; n: number }>({
    name: 'count-queued-of-targets',
    text: `
select t.id as "targetId", w.n
from unnest($1::int[]) t (id) cross join lateral (
  select count(*)::int as n
  from (
    select from queue q
    where q.target_id = t.id
    union all select from delayed d
    where d.target_id = t.id
    union all select from held y
    where y.target_id = t.id limit $2 + 1) x) w`,
    values: [targetIds, limit],
  });
  return rows;
};
