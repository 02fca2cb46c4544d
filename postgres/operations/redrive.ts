import { cancelParked, DETACH_MEMBERS } from './detachMembers';
import type { Client, Queryable } from '../pool';

/**
 * Statements that redrive: ended or parked tasks return to the queue as created, with their
 * attempts reset. Each moving statement returns the target of every task that it moved.
 * `lastBatchId` is the newest batch at the start of the redrive: a task that fails again meanwhile
 * fails in a newer one, and is not redriven twice.
 *
 * distinctBy: a failed or dead task has freed its key; if another task holds it now, the redriven
 * one waits in the queue until that one has ended. A parked task takes its key with it.
 */
export interface RedriveScope {
  handlerId: number;
  /** Null: all targets of the handler. */
  target: string | null;
  /** State of the outcome or the batch: failed, dead or unknown. */
  state: number;
  lastBatchId: number;
}

export const newestBatchId = async (db: Queryable): Promise<number> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'newest-batch-id',
    text: 'select coalesce(max(id), 0)::bigint as id from batch',
  });
  return rows[0]!.id;
};

const INTO_QUEUE = `
insert into queue (target_id, priority, seq, ready_at, bytes, attempts, weight, key)
select k.target_id, k.priority, k.seq, clock(), k.bytes, 0, k.weight, k.key
from gone g join task k on k.seq = g.seq
returning target_id as "targetId"`;

const targetsOf = (rows: readonly { targetId: number }[]): number[] => rows.map((row) => row.targetId);

/**
 * Redrives tasks that failed or are dead beside others that succeeded. Skips what another redrive
 * is taking.
 */
export const redriveOutcomes = async (db: Queryable, scope: RedriveScope, limit: number): Promise<number[]> => {
  const { rows } = await db.query<{ targetId: number }>({
    name: 'redrive-outcomes',
    text: `
with chosen as materialized (
  select o.seq
  from target t join outcome o on o.target_id = t.id and o.state = $3::smallint
  where t.handler_id = $1 and ($2::text is null or t.key = $2) and o.batch_id <= $4
    and not exists (select from batch b where b.id = o.batch_id and b.leader_id = 0)
  limit $5 for update of o skip locked),
gone as (delete from outcome o using chosen c where o.seq = c.seq returning o.seq)
${INTO_QUEUE}`,
    values: [scope.handlerId, scope.target, scope.state, scope.lastBatchId, limit],
  });
  return targetsOf(rows);
};

export const redriveOutcomesOf = async (
  db: Queryable,
  seqs: readonly number[],
  state: number,
  limit: number,
): Promise<number[]> => {
  const { rows } = await db.query<{ targetId: number }>({
    name: 'redrive-outcomes-of',
    text: `
with chosen as materialized (
  select o.seq
  from outcome o
  where o.seq = any($1::bigint[]) and o.state = $2::smallint and o.batch_id is not null
    and not exists (select from batch b where b.id = o.batch_id and b.leader_id = 0)
  order by o.seq limit $3 for update of o skip locked),
gone as (delete from outcome o using chosen c where o.seq = c.seq returning o.seq)
${INTO_QUEUE}`,
    values: [seqs, state, limit],
  });
  return targetsOf(rows);
};

/**
 * Locks batches that are failed, dead or parked as a whole, oldest first; at most as many as one
 * step can need.
 */
export const lockEndedBatches = async (client: Client, scope: RedriveScope, limit: number): Promise<number[]> => {
  const { rows } = await client.query<{ id: number }>({
    name: 'lock-ended-batches',
    text: `
select b.id
from target t join batch b on b.target_id = t.id and b.state = $3::smallint
    and b.state in (3 /* unknown */, 5 /* failed */, 6 /* dead */)
where t.handler_id = $1 and ($2::text is null or t.key = $2) and b.id <= $4 and b.leader_id <> 0
order by b.id limit least($5, 200) for no key update of b`,
    values: [scope.handlerId, scope.target, scope.state, scope.lastBatchId, limit],
  });
  return rows.map((row) => row.id);
};

/** Locks the batches in that state which these tasks are members of. */
export const lockBatchesOf = async (client: Client, seqs: readonly number[], state: number): Promise<number[]> => {
  const { rows } = await client.query<{ id: number }>({
    name: 'lock-batches-of',
    text: `
select b.id
from batch b
where b.state = $2::smallint and b.leader_id <> 0
  and b.id in (select m.batch_id from member m where m.seq = any($1::bigint[]))
order by b.id for no key update`,
    values: [seqs, state],
  });
  return rows.map((row) => row.id);
};

/**
 * Redrives members of these batches, all or the given ones, in member order. A statement before has
 * locked the batches: a late answer or another redrive comes before or after, and what this
 * snapshot shows of their members is true.
 */
export const redriveMembers = async (
  client: Client,
  batchIds: readonly number[],
  seqs: readonly number[] | null,
  limit: number,
): Promise<number[]> => {
  const { rows } = await client.query<{ targetId: number }>({
    name: 'redrive-members',
    text: `
with picked as materialized (
  select m.seq, m.batch_id
  from batch b cross join lateral unnest(b.members) with ordinality u (seq, place)
    join member m on m.seq = u.seq and m.batch_id = b.id
  where b.id = any($1::bigint[]) and ($2::bigint[] is null or u.seq in (select unnest($2::bigint[])))
  order by b.id, u.place limit $3),
gone as (
  delete from member m using picked p
  where m.seq = p.seq and m.batch_id = p.batch_id
  returning m.seq, m.batch_id),
${DETACH_MEMBERS},
${cancelParked()}
${INTO_QUEUE}`,
    values: [batchIds, seqs, limit],
  });
  return targetsOf(rows);
};

/** Returns which of the ids belong to the handler (and target), to name those that do not. */
export const findTasksOf = async (
  db: Queryable,
  handlerId: number,
  target: string | null,
  ids: readonly string[],
): Promise<{ id: string; seq: number }[]> => {
  const { rows } = await db.query<{ id: string; seq: number }>({
    name: 'find-tasks-of',
    text: `
select k.id, k.seq
from task k join target t on t.id = k.target_id
where k.id = any($3::text[]) and t.handler_id = $1 and ($2::text is null or t.key = $2)`,
    values: [handlerId, target, ids],
  });
  return rows;
};
