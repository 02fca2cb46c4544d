import type { Queryable } from '../pool';

/** What lists say of a task: all but its payload and its result. */
export interface ListedTask {
  seq: number;
  targetId: number;
  id: string;
  handler: string;
  target: string;
  state: number;
  attempts: number;
  batchId: number | null;
  /** It ended by itself, not with its whole batch. */
  isOwnEnd: boolean;
  createdAt: Date;
  notBefore: Date | null;
  /** When it expires if it still waits then; null: never, or it has ended. */
  expiresAt: Date | null;
  priority: number;
  /** Null: 1. */
  weight: number | null;
  /** Its target feeds a lane. */
  inLane: boolean;
  /** When the attempt failed after which it waits for another; null: it does not. */
  failedAt: Date | null;
  /** Version of the payload; null: the first. */
  version: number | null;
  /** Null: none. */
  tags: string[] | null;
  error: string | null;
  finishedAt: Date | null;
}

/**
 * Attempts of a task in a batch, in the queue or in that of a lane; null: it is in none. Looked up
 * one by one, not joined as in the view: the queue grows and empties faster than its statistics,
 * and a plan for an empty one reads all of it for each task.
 */
const ATTEMPTS = `
  (select m.attempts + b.counted from member m where m.seq = s.seq),
  (select q.attempts from queue q where q.target_id = k.target_id and q.priority = k.priority and q.seq = k.seq),
  (select l.attempts from lane_queue l where l.seq = s.seq)`;

/** Returns those of the tasks that exist, in no order, as they are now. */
export const readListed = async (db: Queryable, seqs: readonly number[]): Promise<ListedTask[]> => {
  const { rows } = await db.query<ListedTask>({
    name: 'read-listed',
    text: `
select s.seq, s.target_id as "targetId", s.id, h.name as handler, t.key as target, s.state,
  coalesce(o.attempts, ${ATTEMPTS}, d.attempts, 0)::smallint as attempts,
  s.batch_id as "batchId", o.seq is not null as "isOwnEnd",
  k.created_at as "createdAt", coalesce(d.not_before, x.not_before) as "notBefore",
  case when s.state < 4 /* ended */ then coalesce(y.expires_at, y.at) end as "expiresAt", k.priority, k.version,
  k.weight, l.tags, t.lane_id is not null as "inLane", d.failed_at as "failedAt",
  case when o.seq is null then coalesce(b.error, d.error) else o.error end as error,
  case when s.state >= 4 /* ended */ then coalesce(o.at, b.finished_at) end as "finishedAt"
from task_state s join task k on k.seq = s.seq join target t on t.id = s.target_id join handler h on h.id = t.handler_id
  left join outcome o on o.seq = s.seq left join delayed d on d.seq = s.seq left join held x on x.seq = s.seq
  left join batch b on b.id = s.batch_id left join task_label l on l.seq = s.seq
  left join expiry y on y.seq = s.seq
where s.seq = any($1::bigint[])`,
    values: [seqs],
  });
  return rows;
};
