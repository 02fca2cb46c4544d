import { READ_AT } from '../accepted/poll';
import type { CancellationRow } from '../accepted/cancellation';
import { CANCELLATION_OF_BATCH } from '../accepted/cancellation';
import { STACK_OF_BATCH } from '../calls/fault';
import { KEY_OF_BATCH } from '../calls/idempotencyKey';
import type { Queryable } from '../pool';

/** One batch as `batch` shows it. */
export interface BatchRow {
  id: number;
  handler: string;
  target: string;
  leader: string;
  /** Leader's epoch when it formed the batch. */
  epoch: number;
  turn: number;
  state: number;
  reason: number;
  /**
   * Members when it was formed, and how many of them have left since (put back, split off, or ended
   * differently).
   */
  n: number;
  left: number;
  bytes: number;
  weight: number;
  /**
   * Calls marked so far (a verdict by hand counts as one), and those that count against
   * `maxAttempts`.
   */
  attempts: number;
  counted: number;
  /**
   * The node of the last call, and until when no process may take the next attempt (null:
   * concluded).
   */
  attemptBy: string | null;
  attemptUntil: Date | null;
  /** The dispatch that carries it; null: it waits in the store. */
  dispatch: number | null;
  /** Calls in a row that were refused for now. */
  refusals: number;
  retryAt: Date | null;
  /** Accepted downstream under this reference; when it is polled next, and when it is given up. */
  reference: string | null;
  pollAt: Date | null;
  pollUntil: Date | null;
  /** When the read of its results last got on; null: they are not being read. */
  readAt: Date | null;
  /**
   * The cancellation that was or will be sent to the downstream; null: the batch was not given up.
   */
  cancellation: CancellationRow | null;
  /** The batch it was split from, those it was split into, and the depth of splits. */
  parent: number | null;
  children: number[];
  depth: number;
  /** Refused for its content; its end depends on what happens to its other half. */
  refused: boolean;
  /** Under which the downstream may know these tasks; as another batch, if they were split off. */
  idempotencyKey: string;
  error: string | null;
  /** Where the handler threw in that call; null: it did not. */
  stack: string | null;
  /** Number of pages that store the values of the last attempt. */
  resultPages: number;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}

export const readBatch = async (db: Queryable, id: number): Promise<BatchRow | null> => {
  const { rows } = await db.query<BatchRow>({
    name: 'read-batch',
    text: `
select b.id, h.name as handler, t.key as target, l.name as leader, b.epoch, b.turn, b.state, b.reason, b.n,
  b.n_left as left, b.bytes, b.weight, b.attempt as attempts, b.counted, b.attempt_by as "attemptBy",
  b.attempt_until as "attemptUntil", b.dispatch, b.refusals, b.retry_at as "retryAt", b.reference,
  b.poll_at as "pollAt", b.poll_until as "pollUntil", ${READ_AT} as "readAt",
  ${CANCELLATION_OF_BATCH} as cancellation, b.parent_id as parent,
  array(select c.id from batch c where c.parent_id = b.id order by c.id) as children, b.depth, b.refused,
  ${KEY_OF_BATCH} as "idempotencyKey", b.error, ${STACK_OF_BATCH} as stack,
  (select count(*)::int from result_page p where p.batch_id = b.id and p.attempt = b.attempt) as "resultPages",
  b.created_at as "createdAt", b.started_at as "startedAt", b.finished_at as "finishedAt"
from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
  left join leader l on l.id = b.leader_id
where b.id = $1`,
    values: [id],
  });
  return rows[0] ?? null;
};

/**
 * Returns the first members as the batch was formed, with each one's state now, wherever it went:
 * looked up one by one (`limit 1`), or some plans would find the state of every task first.
 */
export const readBatchMembers = async (
  db: Queryable,
  id: number,
  limit: number,
): Promise<{ id: string; state: number }[]> => {
  const { rows } = await db.query<{ id: string; state: number }>({
    name: 'read-batch-members',
    text: `
select s.id, s.state
from batch b cross join lateral (select * from unnest(b.members[1:$2::int]) with ordinality u (seq, place)) u
  cross join lateral (select s.id, s.state from task_state s where s.seq = u.seq limit 1) s
where b.id = $1
order by u.place`,
    values: [id, limit],
  });
  return rows;
};
