import type { Need } from '../../workflows/planning/grouping/dependents';
import type { Queryable } from '../pool';
import type { LookedUpAtMs } from './target';
import type { NewTask } from './task';
import { insertBeside, tracesOf, versionsOf } from './task';

/**
 * What a submit of tasks with dependencies writes and locks. One transaction, in this order: the
 * tasks (`insertHeld`), what they wait for (`insertNeeds`), then `noteEnded`, which locks what has
 * not ended and looks in a new snapshot. A dependency that ends while it is submitted either ended
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

/**
 * Notes which of these tasks have ended, as their ends would have, and locks the others until the
 * end of the transaction, so that they neither end nor move into a batch (`note_ended` in the
 * migration). `states`: how those ended that may have been deleted since; null: as they are.
 */
export const noteEnded = async (
  db: Queryable,
  seqs: readonly number[],
  states: readonly (number | null)[],
): Promise<void> => {
  await db.query({
    name: 'note-ended',
    text: 'select note_ended($1::bigint[], $2::smallint[])',
    values: [seqs, states],
  });
};
