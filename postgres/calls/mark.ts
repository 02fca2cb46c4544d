import type { Queryable } from '../pool';

/**
 * A call about to be made: `attempt` is the last one so far, `timeoutMs` when this one is over at
 * the latest.
 */
export interface Mark {
  id: number;
  attempt: number;
  dispatch: number;
  timeoutMs: number;
}

/** Under which epoch this node holds the partition of what it is about to send. */
export interface Fence {
  id: string;
  epoch: number;
}

const columnsOf = (marks: readonly Mark[]): number[][] => [
  marks.map((mark) => mark.id),
  marks.map((mark) => mark.attempt),
  marks.map((mark) => mark.dispatch),
  marks.map((mark) => mark.timeoutMs),
];

/**
 * Marks a call before it is made (A14): open, carried by this submission, at the expected attempt,
 * and nobody paused it. Answers the batches that may be called. The submission number stands for
 * the leader's epoch: whoever adopts the batch clears it on this row. `state + 0`: hides the
 * partial indexes of open batches, of which a plan made on a small table would read all.
 */
export const markAttempts = async (db: Queryable, marks: readonly Mark[], node: string): Promise<Set<number>> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'mark-attempts',
    text: `
update batch b set attempt = b.attempt + 1, attempt_by = $5,
  attempt_until = clock() + m.timeout_ms * interval '1 ms', started_at = coalesce(b.started_at, clock()),
  retry_at = null
from unnest($1::bigint[], $2::int[], $3::bigint[], $4::float8[]) m (id, attempt, dispatch, timeout_ms), target t,
  handler h
where b.id = any($1::bigint[]) and b.id = m.id and b.attempt = m.attempt and b.state + 0 = 1
  and b.dispatch = m.dispatch and b.attempt_until is null
  and t.id = b.target_id and not t.paused and h.id = t.handler_id and h.paused_at is null
returning b.id`,
    values: [...columnsOf(marks), node],
  });
  return new Set(rows.map((row) => row.id));
};

/**
 * The same in a partition: this node holds it, under that epoch, until the mark is written
 * (store.md section 3).
 */
export const markFenced = async (
  db: Queryable,
  marks: readonly (Mark & { fence: Fence })[],
  node: string,
): Promise<Set<number>> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'mark-fenced',
    text: `
with held as materialized (${HELD_FOR_SHARE})
update batch b set attempt = b.attempt + 1, attempt_by = $5,
  attempt_until = clock() + m.timeout_ms * interval '1 ms', started_at = coalesce(b.started_at, clock()),
  retry_at = null
from unnest($1::bigint[], $2::int[], $3::bigint[], $4::float8[], $6::text[]) m (id, attempt, dispatch, timeout_ms,
  partition), held f, target t, handler h
where b.id = any($1::bigint[]) and b.id = m.id and b.attempt = m.attempt and b.state + 0 = 1
  and b.dispatch = m.dispatch and b.attempt_until is null
  and f.resource = m.partition and t.id = b.target_id and not t.paused and h.id = t.handler_id and h.paused_at is null
returning b.id`,
    values: [...columnsOf(marks), node, marks.map((mark) => mark.fence.id), marks.map((mark) => mark.fence.epoch)],
  });
  return new Set(rows.map((row) => row.id));
};

/**
 * $5 holds the partitions $6 under the epochs $7; in one order, so that two such never wait for
 * each other.
 */
export const HELD_FOR_SHARE = `
  select l.resource from lease l where l.resource = any($6::text[]) and l.holder = $5 and l.expires_at > clock()
    and exists (select from unnest($6::text[], $7::bigint[]) p (id, epoch) where p.id = l.resource
      and p.epoch = l.epoch) order by l.resource for share`;

/** A mark that was not used: nothing was sent, nothing is counted; the attempt number is spent. */
export const unmarkAttempt = async (db: Queryable, id: number, attempt: number): Promise<void> => {
  await db.query({
    name: 'unmark-attempt',
    text: `update batch set attempt_until = null where id = $1 and attempt = $2 and state = 1 /* open */`,
    values: [id, attempt],
  });
};
