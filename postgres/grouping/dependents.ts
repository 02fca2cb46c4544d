import type { DependentsPlan, Need } from '../../workflows/planning/grouping/dependents';
import type { Client, Queryable } from '../pool';

/**
 * The statements that release or fail tasks whose dependencies have ended, in the order of their
 * transaction. Each works on a bounded number of rows.
 */

export interface EndedDependency {
  id: number;
  seq: number;
  /** A number of `TASK_STATES`. */
  state: number;
}

/** Says whether there is anything to work off. */
export const hasEnded = async (db: Queryable): Promise<boolean> => {
  const { rows } = await db.query<{ some: boolean }>({
    name: 'has-ended',
    text: 'select exists (select from ended_dependency) as some',
  });
  return rows[0]!.some;
};

/** Takes ends that no other process is working off, oldest first. */
export const takeEnded = async (client: Client, limit: number): Promise<EndedDependency[]> => {
  const { rows } = await client.query<EndedDependency>({
    name: 'take-ended',
    text: 'select id, seq, state from ended_dependency order by id limit $1 for update skip locked',
    values: [limit],
  });
  return rows;
};

/**
 * Returns tasks that wait for these, nearest first, and behind an end that is no success also those
 * that will fail with them, however long the chain; at most `limit` dependencies are followed.
 */
export const findDependents = async (
  client: Client,
  ended: readonly EndedDependency[],
  limit: number,
): Promise<number[]> => {
  const { rows } = await client.query<{ seq: number }>({
    name: 'find-dependents',
    text: `
with recursive found (seq, needs, fails) as (
  select d.seq, d.needs, not d.run and e.state <> 4 /* succeeded */
  from unnest($1::bigint[], $2::smallint[]) e (seq, state) join task_dependency d on d.needs = e.seq and d.state is null
  union select d.seq, d.needs, not d.run
  from found f join task_dependency d on f.fails and d.needs = f.seq and d.state is null)
select distinct seq
from (select seq from found limit $3) f`,
    values: [ended.map(({ seq }) => seq), ended.map(({ state }) => state), limit],
  });
  return rows.map(({ seq }) => seq);
};

/**
 * Locks those of the tasks that are held, in seq order, and returns them. What other ends have done
 * to them is seen by the next statement.
 */
export const lockHeld = async (client: Client, seqs: readonly number[]): Promise<number[]> => {
  const { rows } = await client.query<{ seq: number }>({
    name: 'lock-held',
    text: 'select seq from held where seq = any($1::bigint[]) order by seq for update',
    values: [seqs],
  });
  return rows.map(({ seq }) => seq);
};

/** Returns all dependencies of these tasks. */
export const readNeeds = async (db: Queryable, seqs: readonly number[]): Promise<Need[]> => {
  const { rows } = await db.query<Need>({
    name: 'read-needs',
    text: `
select seq, needs, needs_id as "needsId", place, run, state
from task_dependency
where seq = any($1::bigint[])`,
    values: [seqs],
  });
  return rows;
};

/** Writes how dependencies ended. */
export const markNeeds = async (client: Client, marks: DependentsPlan['marks']): Promise<void> => {
  await client.query({
    name: 'mark-needs',
    text: `
update task_dependency d set state = m.state
from unnest($1::bigint[], $2::bigint[], $3::smallint[]) m (seq, needs, state)
where d.seq = m.seq and d.needs = m.needs`,
    values: [marks.map(({ seq }) => seq), marks.map(({ needs }) => needs), marks.map(({ state }) => state)],
  });
};

/**
 * Queues held tasks as if they had been submitted now, or delays them until their `notBefore`;
 * returns their targets.
 */
export const releaseHeld = async (client: Client, seqs: readonly number[]): Promise<number[]> => {
  const { rows } = await client.query<{ targetId: number }>({
    name: 'release-held',
    text: `
with gone as (delete from held where seq = any($1::bigint[]) returning seq, not_before),
queued as (
  insert into queue (target_id, priority, seq, ready_at, bytes, weight, key)
  select k.target_id, k.priority, k.seq, clock(), k.bytes, k.weight, k.key
  from gone g join task k using (seq)
  where g.not_before is null or g.not_before <= clock()),
waiting as (
  insert into delayed (target_id, priority, seq, not_before, bytes, weight, key)
  select k.target_id, k.priority, k.seq, g.not_before, k.bytes, k.weight, k.key
  from gone g join task k using (seq)
  where g.not_before > clock())
select distinct k.target_id as "targetId"
from gone g join task k using (seq)`,
    values: [seqs],
  });
  return rows.map(({ targetId }) => targetId);
};

export interface FailedDependent {
  id: string;
  handler: string;
  target: string;
  recipientId: number | null;
  error: string;
}

/** Fails held tasks; their outcomes note what waits for them. */
export const failHeld = async (client: Client, failed: DependentsPlan['failed']): Promise<FailedDependent[]> => {
  const { rows } = await client.query<FailedDependent>({
    name: 'fail-held',
    text: `
with ended as (select * from unnest($1::bigint[], $2::text[]) e (seq, error)),
gone as (delete from held where seq = any($1::bigint[]) returning seq),
over as (
  insert into outcome (seq, target_id, state, attempts, error, at)
  select k.seq, k.target_id, 5 /* failed */, 0, e.error, clock()
  from gone join ended e using (seq) join task k using (seq))
select k.id, h.name as handler, t.key as target, k.recipient_id as "recipientId", e.error
from gone join ended e using (seq) join task k using (seq) join target t on t.id = k.target_id
  join handler h on h.id = t.handler_id`,
    values: [failed.map(({ seq }) => seq), failed.map(({ error }) => error)],
  });
  return rows;
};

/** Removes ends that nothing waits for any more. */
export const deleteEnded = async (client: Client, ids: readonly number[]): Promise<void> => {
  await client.query({
    name: 'delete-ended',
    text: `
delete from ended_dependency e
where e.id = any($1::bigint[])
  and not exists (select from task_dependency d where d.needs = e.seq and d.state is null)`,
    values: [ids],
  });
};
