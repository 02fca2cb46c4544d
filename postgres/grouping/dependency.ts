import type { Need } from '../../workflows/planning/grouping/dependents';
import type { Queryable } from '../pool';
import type { LookedUpAtMs } from './target';
import type { NewTask } from './task';
import { insertBeside, tracesOf, versionsOf } from './task';

/**
 * What a submit of tasks with dependencies writes and locks. One transaction, in this order: the
 * tasks (`insertHeld`), what they wait for (`insertNeeds`), then the locks of what has not ended,
 * then `noteEnded` in a new snapshot. A dependency that ends while it is submitted either ended
 * before the locks, and is seen, or its end waits for the commit, and sees the dependent
 * (`note_batch_end`, `note_outcomes` in the migration).
 *
 * Numbers are `float8`: a caller's client reads int8 as text.
 */

/** Finds tasks by id, and keeps them from being deleted until the end of the transaction. */
export const lockTasks = async (db: Queryable, ids: readonly string[]): Promise<Map<string, number>> => {
  const { rows } = await db.query<{ id: string; seq: number }>({
    name: 'lock-tasks',
    text: 'select id, seq::float8 as seq from task where id = any($1::text[]) order by id for key share',
    values: [ids],
  });
  return new Map(rows.map(({ id, seq }) => [id, seq]));
};

/** Inserts held tasks, leaving out ids that exist; returns the seq of each inserted one. */
export const insertHeld = async (
  db: Queryable,
  tasks: readonly NewTask[],
  lookedUpAtMs: LookedUpAtMs,
): Promise<Map<string, number>> => {
  const { rows } = await db.query<{ id: string; seq: number }>({
    name: 'insert-held',
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
kept as (
  insert into held (seq, target_id, not_before)
  select n.seq, n.target_id, to_timestamp(n.not_before_ms / 1000)
  from stored s join new n using (seq))
select id, seq::float8 as seq
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
  const stored = new Map(rows.map(({ id, seq }) => [id, seq]));
  await insertBeside(
    db,
    tasks.filter(({ id }) => stored.has(id)),
  );
  return stored;
};

/** Writes what tasks wait for. */
export const insertNeeds = async (db: Queryable, needs: readonly Omit<Need, 'state'>[]): Promise<void> => {
  await db.query({
    name: 'insert-needs',
    text: `
insert into task_dependency (seq, needs, place, run, needs_id)
select *
from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bool[], $5::text[])`,
    values: [
      needs.map(({ seq }) => seq),
      needs.map(({ needs: on }) => on),
      needs.map(({ place }) => place),
      needs.map(({ run }) => run),
      needs.map(({ needsId }) => needsId),
    ],
  });
};

/** Returns which of these tasks have not ended, with their targets and lanes. */
export const findOpen = async (
  db: Queryable,
  seqs: readonly number[],
): Promise<{ targetId: number; laneId: number | null }[]> => {
  const { rows } = await db.query<{ targetId: number; laneId: number | null }>({
    name: 'find-open',
    text: `
select distinct s.target_id as "targetId", t.lane_id as "laneId"
from task_state s join target t on t.id = s.target_id
where s.seq = any($1::bigint[]) and s.state < 4 /* not ended */`,
    values: [seqs],
  });
  return rows;
};

/**
 * Locks targets, so that no claim takes tasks out of their queues; submits do not wait for each
 * other. In id order, before lanes and batches.
 */
export const shareTargets = async (db: Queryable, targetIds: readonly number[]): Promise<void> => {
  await db.query({
    name: 'share-targets',
    text: 'select from target where id = any($1::int[]) order by id for share',
    values: [targetIds],
  });
};

/** Locks lanes, so that no grant puts their tasks into batches. In id order. */
export const shareLanes = async (db: Queryable, laneIds: readonly number[]): Promise<void> => {
  await db.query({
    name: 'share-lanes',
    text: 'select from lane_state where lane_id = any($1::int[]) order by lane_id for share',
    values: [laneIds],
  });
};

/**
 * Locks the batches of these tasks, in id order; returns them. To be repeated until it returns the
 * same: a batch may have been split before it was locked.
 */
export const shareBatches = async (db: Queryable, seqs: readonly number[]): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'share-batches',
    text: `
select b.id::float8 as id
from batch b
where b.id = any(array(select m.batch_id from member m where m.seq = any($1::bigint[])))
order by b.id for share`,
    values: [seqs],
  });
  return rows.map(({ id }) => id);
};

/** Locks those of the tasks that are held themselves, in seq order. */
export const shareHeld = async (db: Queryable, seqs: readonly number[]): Promise<void> => {
  await db.query({
    name: 'share-held',
    text: 'select from held where seq = any($1::bigint[]) order by seq for share',
    values: [seqs],
  });
};

/**
 * Notes which of these tasks have ended, as their ends would have. `states`: how those ended that
 * have been deleted since; null: none.
 */
export const noteEnded = async (
  db: Queryable,
  seqs: readonly number[],
  states: readonly (number | null)[],
): Promise<void> => {
  await db.query({
    name: 'note-ended',
    text: `
insert into ended_dependency (seq, state)
select n.seq, coalesce(s.state, n.state)
from unnest($1::bigint[], $2::smallint[]) n (seq, state) left join task_state s on s.seq = n.seq
where coalesce(s.state, n.state) >= 4 /* ended */`,
    values: [seqs, states],
  });
};
