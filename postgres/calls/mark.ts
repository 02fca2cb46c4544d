import type { Queryable } from '../pool';

/**
 * A call about to be made: `attempt` is the last one so far, `timeoutMs` the longest that this one
 * may take.
 */
export interface Mark {
  id: number;
  attempt: number;
  dispatch: number;
  timeoutMs: number;
}

/** The epoch under which this node holds the partition of what it is about to send. */
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
 * Marks calls before they are made, so that a crash during the call leaves a trace. Each batch must
 * be open, carried by this dispatch, at the expected attempt, and not paused. Returns the batches
 * that may be called. The dispatch number stands for the leader's epoch: a leader that adopts the
 * batch clears it on this row. `state + 0` hides the partial indexes of open batches, of which a
 * plan made on a small table would read all.
 */
export const markAttempts = async (db: Queryable, marks: readonly Mark[], node: string): Promise<Set<number>> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'mark-attempts',
    text: `
update batch b set attempt = b.attempt + 1, attempt_by = $5,
  attempt_until = clock() + m.timeout_ms * interval '1 ms', started_at = coalesce(b.started_at, clock()),
  called_at = clock(), retry_at = null
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
 * Marks calls of a partition: as `markAttempts`, and this node holds the partition under that epoch
 * until the mark is written, so that a deposed node marks nothing.
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
  called_at = clock(), retry_at = null
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
 * Locks the partitions $6, if $5 holds them under the epochs $7; in a fixed order, so that two such
 * statements never wait for each other.
 */
export const HELD_FOR_SHARE = `
  select l.resource
  from lease l
  where l.resource = any($6::text[]) and l.holder = $5 and l.expires_at > clock() and exists (
    select from unnest($6::text[], $7::bigint[]) p (id, epoch)
    where p.id = l.resource and p.epoch = l.epoch)
  order by l.resource for share`;

/**
 * A mark to take back: the attempt that it counted, and the dispatch or submitter that carries the
 * batch.
 */
export interface UnusedMark {
  id: number;
  attempt: number;
  dispatch: number;
}

/**
 * Takes back marks of this node whose calls were not made: nothing counts, only the numbers of the
 * attempts are spent. Those of marks that were not written are spent, too, as if they had been: a
 * mark or a taking back that the server still does later, for a session that was lost, finds
 * another number then.
 */
export const unmarkAttempts = async (db: Queryable, marks: readonly UnusedMark[], node: string): Promise<void> => {
  await db.query({
    name: 'unmark-attempts',
    text: `
update batch b set attempt = m.attempt, attempt_until = null, started_at = coalesce(b.started_at, clock())
from unnest($1::bigint[], $2::int[], $3::bigint[]) m (id, attempt, dispatch)
where b.id = any($1::bigint[]) and b.id = m.id and b.dispatch = m.dispatch and b.state + 0 = 1 /* open */
  and (b.attempt = m.attempt and b.attempt_by = $4 or b.attempt = m.attempt - 1 and b.attempt_until is null)`,
    values: [
      marks.map(({ id }) => id),
      marks.map(({ attempt }) => attempt),
      marks.map(({ dispatch }) => dispatch),
      node,
    ],
  });
};
