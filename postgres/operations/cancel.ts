import type { Client } from '../pool';

/** The statements that cancel created tasks, in the order of their transaction. */

/** Returns the targets of tasks, with the lane that each feeds. */
export const findTargetsOf = async (
  client: Client,
  ids: readonly string[],
): Promise<{ targetId: number; laneId: number | null }[]> => {
  const { rows } = await client.query<{ targetId: number; laneId: number | null }>({
    name: 'find-targets-of',
    text: `
select t.id as "targetId", t.lane_id as "laneId"
from target t
where t.id = any(array(select distinct target_id from task where id = any($1::text[])))`,
    values: [ids],
  });
  return rows;
};

/**
 * Locks targets. A claim takes tasks out of the queue under this lock, so what the next statement
 * sees in the queue stays there. Locks are taken in id order; a claim takes its targets in the
 * order in which they are due, so a deadlock is possible, and both retry it. Tasks of a lane are
 * put into batches under the lane's own lock instead (`lockLaneStates`), which is taken after
 * these.
 */
export const lockTargets = async (client: Client, targetIds: readonly number[]): Promise<void> => {
  await client.query({
    name: 'lock-targets',
    text: 'select from target where id = any($1::int[]) order by id for no key update',
    values: [targetIds],
  });
};

export interface CancelledTask {
  seq: number;
  id: string;
  targetId: number;
  /** Null: its target feeds no lane. */
  laneId: number | null;
  handler: string;
  target: string;
  recipientId: number | null;
  cancelled: boolean;
  /** State before the call. */
  state: number;
}

/** How tasks end that are taken out of where they wait. */
export interface WaitingEnd {
  /** A number of `TASK_STATES`. */
  state: number;
  error: string | null;
}

/**
 * Ends tasks that wait: removes them from `queue`, `delayed`, `lane_queue` and `held`, and inserts
 * an outcome; returns the others unchanged. A retried task frees its distinctBy key. The place of a
 * row in the queue is looked up for each task: joined, by a plan from when the queue was empty, all
 * of it would be read for each.
 */
export const cancelTasks = async (
  client: Client,
  ids: readonly string[],
  { state, error }: WaitingEnd,
): Promise<CancelledTask[]> => {
  const { rows } = await client.query<CancelledTask>({
    name: 'cancel-tasks',
    text: `
with named as materialized (
  select k.seq, k.id, k.target_id, k.recipient_id, s.state, (
      select q.ctid
      from queue q
      where q.target_id = k.target_id and q.priority = k.priority and q.seq = k.seq) as at
  from task_state s join task k on k.seq = s.seq
  where s.id = any($1::text[])),
dequeued as (
  delete from queue q
  where q.ctid = any(array(select n.at from named n where n.at is not null))
  returning q.seq, q.attempts),
undelayed as (
  delete from delayed d using named n
  where d.seq = n.seq
  returning d.seq, d.attempts),
unlaned as (
  delete from lane_queue l using named n
  where l.seq = n.seq
  returning l.seq, l.attempts),
unheld as (
  delete from held x using named n
  where x.seq = n.seq
  returning x.seq, 0::smallint as attempts),
gone as (
  select *
  from dequeued
  union all select *
  from undelayed
  union all select *
  from unlaned
  union all select *
  from unheld),
freed as (delete from busy_key b using gone g where b.seq = g.seq),
ended as (
  insert into outcome (seq, target_id, state, attempts, error, at)
  select g.seq, n.target_id, $2::smallint, g.attempts, $3, clock()
  from gone g join named n on n.seq = g.seq)
select n.seq, n.id, n.target_id as "targetId", t.lane_id as "laneId", h.name as handler, t.key as target,
  n.recipient_id as "recipientId", g.seq is not null as cancelled, n.state
from named n join target t on t.id = n.target_id join handler h on h.id = t.handler_id
  left join gone g on g.seq = n.seq`,
    values: [ids, state, error],
  });
  return rows;
};
