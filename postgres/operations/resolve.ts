import { cancelParked, DETACH_MEMBERS } from './detachMembers';
import type { Client, Queryable } from '../pool';

/** State of a batch or task that was applied: nothing is given up then. */
const SUCCEEDED = 4;

/**
 * Verdicts of an operator on parked batches and tasks. One transaction per call, which locks the
 * batches first.
 */

export interface LockedBatch {
  id: number;
  state: number;
}

/** Locks a batch whatever its state; null: there is none. */
export const lockBatch = async (client: Client, id: number): Promise<LockedBatch | null> => {
  const { rows } = await client.query<LockedBatch>({
    name: 'lock-batch',
    text: 'select id, state from batch where id = $1 for no key update',
    values: [id],
  });
  return rows[0] ?? null;
};

/**
 * Locks the batches that these tasks are members of, in id order: their states stay as the next
 * statement sees them.
 */
export const lockBatchesOfTasks = async (client: Client, ids: readonly string[]): Promise<void> => {
  await client.query({
    name: 'lock-batches-of-tasks',
    text: `
select from batch
where id in (select m.batch_id from task k join member m on m.seq = k.seq where k.id = any($1::text[]))
order by id for no key update`,
    values: [ids],
  });
};

export interface ParkedTask {
  seq: number;
  id: string;
  state: number;
  targetId: number;
  handler: string;
  target: string;
  recipientId: number | null;
  batchId: number | null;
}

const PARKED = `
select k.seq, k.id, s.state, k.target_id as "targetId", h.name as handler, t.key as target,
  k.recipient_id as "recipientId", s.batch_id as "batchId"
from task_state s join task k on k.seq = s.seq join target t on t.id = k.target_id
  join handler h on h.id = t.handler_id`;

export const readParkedTasks = async (db: Queryable, ids: readonly string[]): Promise<ParkedTask[]> => {
  const { rows } = await db.query<ParkedTask>({
    name: 'read-parked-tasks',
    text: `${PARKED} where s.id = any($1::text[])`,
    values: [ids],
  });
  return rows;
};

/** Returns the remaining members of a batch, in member order. */
export const readParkedMembers = async (db: Queryable, batchId: number): Promise<ParkedTask[]> => {
  const { rows } = await db.query<ParkedTask>({
    name: 'read-parked-members',
    text: `
select p.*
from batch b cross join lateral unnest(b.members) with ordinality u (seq, place) join member m on m.seq = u.seq
    and m.batch_id = b.id join lateral (${PARKED} where s.seq = u.seq) p on true
where b.id = $1
order by u.place`,
    values: [batchId],
  });
  return rows;
};

/**
 * Ends all remaining members of a batch with one verdict. The verdict has its own attempt number,
 * so pages of an interrupted answer are not shown and a late answer is not written. Frees the keys.
 * Stops what the downstream accepted, unless it was applied.
 */
export const endParkedBatch = async (
  client: Client,
  id: number,
  state: number,
  error: string | null,
): Promise<void> => {
  await client.query({
    name: 'end-parked-batch',
    text: `
with given_up as (
  insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at)
  select b.id, t.handler_id, b.reference, 2, clock(), clock()
  from batch b join target t on t.id = b.target_id
  where b.id = $1 and b.state = 3 /* unknown */ and b.reference is not null and $2::smallint <> ${SUCCEEDED}
  on conflict (batch_id, md5(reference)) do nothing),
over as (
  update batch set state = $2::smallint, attempt = attempt + 1, attempt_by = 'resolve', attempt_until = null,
    retry_at = null, poll_at = null, error = $3, finished_at = clock()
  where id = $1 and state = 3 /* unknown */
  returning id, members)
delete from busy_key k using over o cross join lateral unnest(o.members) u (seq), member m
where m.seq = u.seq and m.batch_id = o.id and k.seq = u.seq`,
    values: [id, state, error],
  });
};

/**
 * Writes one value for every remaining member: pages of the verdict's attempt, `perPage` members
 * each. `result` is JSON text.
 */
export const insertParkedResults = async (
  client: Client,
  id: number,
  result: string,
  perPage: number,
): Promise<void> => {
  await client.query({
    name: 'insert-parked-results',
    text: `
with placed as (
  select b.id, b.attempt, (u.place - 1)::int as place,
    ((row_number() over (order by u.place) - 1) / $3::int)::int as no
  from batch b cross join lateral unnest(b.members) with ordinality u (seq, place) join member m on m.seq = u.seq
      and m.batch_id = b.id
  where b.id = $1)
insert into result_page (batch_id, attempt, no, first, last, results)
select id, attempt, no, min(place), max(place), json_agg(json_build_array(place, $2::json) order by place)
from placed
group by id, attempt, no`,
    values: [id, result, perPage],
  });
};

/** Ends members apart from their batch, which stays parked as long as it has others. */
export const endParkedTasks = async (
  client: Client,
  seqs: readonly number[],
  end: { state: number; error: string | null; result: string | null },
): Promise<void> => {
  await client.query({
    name: 'end-parked-tasks',
    text: `
with gone as (
  delete from member m using batch b
  where m.seq = any($1::bigint[]) and b.id = m.batch_id and b.state = 3 /* unknown */
  returning m.seq, m.batch_id, m.attempts + b.counted as attempts),
freed as (delete from busy_key k using gone g where k.seq = g.seq),
${DETACH_MEMBERS},
${cancelParked(`$2::smallint <> ${SUCCEEDED}`)}
insert into outcome (seq, target_id, state, attempts, batch_id, result, error, at)
select g.seq, k.target_id, $2::smallint, g.attempts, g.batch_id, $3::json, $4, clock()
from gone g join task k on k.seq = g.seq`,
    values: [seqs, end.state, end.result, end.error],
  });
};

/**
 * Puts tasks back into the queue as if they had not been in a batch: in their old order, with the
 * attempts that they have had. They keep their keys.
 */
export const requeueParkedTasks = async (client: Client, seqs: readonly number[]): Promise<void> => {
  await client.query({
    name: 'requeue-parked-tasks',
    text: `
with gone as (
  delete from member m using batch b
  where m.seq = any($1::bigint[]) and b.id = m.batch_id and b.state = 3 /* unknown */
  returning m.seq, m.batch_id, m.attempts + b.counted as attempts),
${DETACH_MEMBERS},
${cancelParked()}
insert into queue (target_id, priority, seq, ready_at, bytes, attempts, weight, key)
select k.target_id, k.priority, k.seq, k.created_at, k.bytes, g.attempts, k.weight, k.key
from gone g join task k on k.seq = g.seq`,
    values: [seqs],
  });
};
