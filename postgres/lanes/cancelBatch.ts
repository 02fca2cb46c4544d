import type { Client, Queryable } from '../pool';

/**
 * The statements that cancel a lane batch, in the order of their transaction. The lane's row is
 * locked first, as in a grant, so that either comes before the other; then the batch's row, which a
 * mark and a settlement lock first, before the lane's. So the cancel never waits for the batch: a
 * process that holds it is about to change it, and the cancel lets go and looks again.
 */

export interface BatchInLane {
  laneId: number;
  service: string;
  status: number;
  calling: boolean;
  unsure: boolean;
}

/** Returns a lane batch; null: no batch of this id is or was in a lane. */
export const readBatchInLane = async (db: Queryable, batchId: number): Promise<BatchInLane | null> => {
  const { rows } = await db.query<BatchInLane>({
    name: 'read-batch-in-lane',
    text: `
select s.lane_id as "laneId", l.service, s.status, b.attempt_until is not null as calling, b.unsure
from lane_batch s join lane l on l.id = s.lane_id join batch b on b.id = s.batch_id
where s.batch_id = $1`,
    values: [batchId],
  });
  return rows[0] ?? null;
};

/**
 * Locks the batch without waiting, after `lockLaneStates`. False: another transaction holds it, or
 * it is gone.
 */
export const lockFreeBatch = async (client: Client, batchId: number): Promise<boolean> => {
  const { rowCount } = await client.query({
    name: 'lock-free-batch',
    text: 'select from batch where id = $1 for no key update skip locked',
    values: [batchId],
  });
  return rowCount === 1;
};

export interface CancelledMember {
  id: string;
  handler: string;
  target: string;
  recipientId: number | null;
  batchId: number;
}

/**
 * Ends the remaining members task by task: no batch has the state cancelled, and all other members
 * have left. Frees their keys.
 */
export const cancelMembers = async (client: Client, batchId: number): Promise<CancelledMember[]> => {
  const { rows } = await client.query<CancelledMember>({
    name: 'cancel-members',
    text: `
with over as (
  update batch set state = 7 /* dissolved */, n_left = n, attempt_until = null, dispatch = null, retry_at = null,
    poll_at = null, refused = false, error = 'cancelled', finished_at = clock()
  where id = $1 and state = 1 /* open */
  returning id, target_id, counted, members),
gone as (
  delete from member m using (
    select o.id, o.counted, u.seq
    from over o cross join lateral unnest(o.members) u (seq)) x
  where m.seq = x.seq and m.batch_id = x.id
  returning m.seq, m.attempts + x.counted as attempts),
freed as (delete from busy_key k using gone g where k.seq = g.seq),
ended as (
  insert into outcome (seq, target_id, state, attempts, batch_id, at)
  select g.seq, o.target_id, 7, g.attempts, o.id, clock()
  from gone g, over o)
select k.id, h.name as handler, t.key as target, k.recipient_id as "recipientId", o.id as "batchId"
from gone g join task k on k.seq = g.seq cross join over o join target t on t.id = o.target_id
  join handler h on h.id = t.handler_id
order by k.seq`,
    values: [batchId],
  });
  return rows;
};

/**
 * Returns the lanes with batches that depend on this one. Call it after writing the batch's end, so
 * that a dependency written meanwhile is seen.
 */
export const findDependentLanes = async (db: Queryable, batchId: number): Promise<number[]> => {
  const { rows } = await db.query<{ laneId: number }>({
    name: 'find-dependent-lanes',
    text: `
select distinct s.lane_id as "laneId"
from dependency d join lane_batch s on s.batch_id = d.batch_id
where d.needs = $1 and s.status < 10 /* open */`,
    values: [batchId],
  });
  return rows.map(({ laneId }) => laneId);
};

/**
 * A batch that is open in a lane, or that the downstream has accepted, with the tasks of it that
 * were named and its number of tasks.
 */
export interface NamedBatch {
  batchId: number;
  service: string | null;
  ids: string[];
  n: number;
}

export const findBatchesOfTasks = async (db: Queryable, ids: readonly string[]): Promise<NamedBatch[]> => {
  const { rows } = await db.query<NamedBatch>({
    name: 'find-batches-of-tasks',
    text: `
select b.id as "batchId", l.service, b.n - b.n_left as n, array_agg(k.id order by k.seq) as ids
from task k join member m on m.seq = k.seq join batch b on b.id = m.batch_id
  left join lane_batch s on s.batch_id = b.id left join lane l on l.id = s.lane_id
where k.id = any($1::text[]) and (s.status < 10 /* open */ or s.batch_id is null and b.state = 1 /* open */
  and b.reference is not null) group by b.id, l.service order by 1`,
    values: [ids],
  });
  return rows;
};
