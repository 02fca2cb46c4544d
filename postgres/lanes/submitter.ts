import type { CarriedBatch } from '../calls/batch';
import type { Fence } from '../calls/mark';
import { aheadOf, CARRIED } from '../calls/batch';
import { HELD_FOR_SHARE } from '../calls/mark';
import type { Client, Queryable } from '../pool';

/**
 * Statements of a submitter, an activity of the queuer: its batches and its marks. Grants are in
 * `grant.ts`.
 */

/** Returns the batches that a submitter holds, in the order in which they were granted. */
export const readGranted = async (db: Queryable, no: number): Promise<CarriedBatch[]> => {
  const { rows } = await db.query<CarriedBatch>({
    name: 'read-granted',
    text: `${CARRIED} join lane_batch s on s.batch_id = b.id where s.submitter = $1
      and s.status = 3 /* submitted */ and b.dispatch = $1 and b.state = 1 /* open */ order by s.granted_at, b.id`,
    values: [no],
  });
  return aheadOf(rows);
};

/** Returns batches that were just granted, in the granting transaction. */
export const readCarried = async (db: Queryable, ids: readonly number[]): Promise<CarriedBatch[]> => {
  const { rows } = await db.query<CarriedBatch>({
    name: 'read-carried',
    text: `${CARRIED} where b.id = any($1::bigint[])`,
    values: [ids],
  });
  return aheadOf(rows);
};

/**
 * A call about to be made; `attempt` is the last one so far, `timeoutMs` the longest that this one
 * may take.
 */
export interface GrantedMark {
  id: number;
  attempt: number;
  submitter: number;
  timeoutMs: number;
}

const columnsOf = (marks: readonly GrantedMark[]): number[][] => [
  marks.map((mark) => mark.id),
  marks.map((mark) => mark.attempt),
  marks.map((mark) => mark.submitter),
  marks.map((mark) => mark.timeoutMs),
];

/** What a mark writes: the call is about to be made. */
const MARK = `update batch b set attempt = b.attempt + 1, attempt_by = $5,
  attempt_until = clock() + g.timeout_ms * interval '1 ms', started_at = coalesce(b.started_at, clock()),
  called_at = clock(), retry_at = null`;
/** Of a mark `g`: the submitter still has the grant, and nothing was paused meanwhile. */
const STILL_GRANTED = `where b.id = any($1::bigint[]) and b.id = g.id and b.attempt = g.attempt and b.state + 0 = 1
  and b.dispatch = g.submitter and b.attempt_until is null
  and s.batch_id = g.id and s.status = 3 /* submitted */ and s.submitter = g.submitter and l.lane_id = s.lane_id
    and l.paused_at is null and l.halted_by is null
  and m.no = g.submitter and m.expires_at > clock() and q.id = m.queuer_id and q.epoch = m.epoch and q.paused_at is null
  and t.id = b.target_id and t.id = s.target_id and t.lane_id = s.lane_id and not t.paused
    and h.id = t.handler_id and h.paused_at is null`;

/**
 * Marks calls right before they are made. Each must be granted to its submitter, which counts as
 * alive, by a queuer that still rules; nothing may be paused, and the batch must be in the lane
 * that its target feeds. Returns the batches that may be sent; no other must be.
 */
export const markGranted = async (db: Queryable, marks: readonly GrantedMark[], node: string): Promise<Set<number>> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'mark-granted',
    text: `
${MARK}
from unnest($1::bigint[], $2::int[], $3::bigint[], $4::float8[]) g (id, attempt, submitter, timeout_ms),
  lane_batch s, lane_state l, submitter m, queuer q, target t, handler h
${STILL_GRANTED}
returning b.id`,
    values: [...columnsOf(marks), node],
  });
  return new Set(rows.map((row) => row.id));
};

/**
 * Marks calls in partitions, as `markGranted`: this node holds each, under that epoch, until the
 * mark is written.
 */
export const markGrantedFenced = async (
  db: Queryable,
  marks: readonly (GrantedMark & { fence: Fence })[],
  node: string,
): Promise<Set<number>> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'mark-granted-fenced',
    text: `
with held as materialized (${HELD_FOR_SHARE})
${MARK}
from unnest($1::bigint[], $2::int[], $3::bigint[], $4::float8[], $6::text[])
    g (id, attempt, submitter, timeout_ms, partition),
  held f, lane_batch s, lane n, lane_state l, submitter m, queuer q, target t, handler h
${STILL_GRANTED}
  and f.resource = g.partition and n.id = s.lane_id and n.partition = f.resource
returning b.id`,
    values: [...columnsOf(marks), node, marks.map((mark) => mark.fence.id), marks.map((mark) => mark.fence.epoch)],
  });
  return new Set(rows.map((row) => row.id));
};

/** Part of statements that return batches (`back`) to their lanes: unknown if a call may be out. */
export const MOVED_BACK = `moved as (
  update lane_batch s set status = case when b.attempt_until is not null or b.unsure then 2 /* unknown */
      else 0 /* unsubmitted */ end, not_before = b.attempt_until, changed_at = clock()
  from back b
  where s.batch_id = b.id and s.status = 3 /* submitted */
  returning s.lane_id)`;

/**
 * Returns a batch that its submitter does not send to its lane at once; `recoverBatches` does it
 * for all of a dead submitter. `unused`: the attempt that was marked for it, and whose call was not
 * made: only its number is spent. Null: the submitter did not hold it any more.
 */
export const returnGranted = async (
  db: Queryable,
  batchId: number,
  submitter: number,
  unused: number | null,
): Promise<number | null> => {
  const { rows } = await db.query<{ laneId: number }>({
    name: 'return-granted',
    text: `
with back as (
  update batch b set dispatch = null, attempt_until = case when b.attempt = $3 then null else b.attempt_until end
  from lane_batch g
  where b.id = $1 and g.batch_id = b.id and g.submitter = $2 and g.status = 3 /* submitted */
    and b.state = 1 /* open */ and b.dispatch = $2
  returning b.id, b.attempt_until, b.unsure),
${MOVED_BACK}
update lane_state l set ready = true, pending = l.pending - 1
from moved m
where l.lane_id = m.lane_id
returning l.lane_id as "laneId"`,
    values: [batchId, submitter, unused],
  });
  return rows[0]?.laneId ?? null;
};

/** Reduces a submitter to so many slots; the others are free for the queuer. */
export const shrinkSubmitter = async (db: Queryable, no: number, slots: number): Promise<void> => {
  await db.query({
    name: 'shrink-submitter',
    text: 'update submitter set slots = least(slots, $2) where no = $1',
    values: [no, slots],
  });
};

/** Deletes a submitter that has ended. */
export const deleteSubmitter = async (db: Queryable, no: number): Promise<void> => {
  await db.query({ name: 'delete-submitter', text: 'delete from submitter where no = $1', values: [no] });
};

/** Inserts a submitter whose activity is about to be started. */
export const insertSubmitter = async (
  client: Client,
  queuerId: number,
  epoch: number,
  slots: number,
  leaseMs: number,
): Promise<number> => {
  const { rows } = await client.query<{ no: number }>({
    name: 'insert-submitter',
    text: `
insert into submitter (queuer_id, epoch, slots, started_at, expires_at)
values ($1, $2, $3, clock(), clock() + $4 * interval '1 ms')
returning no`,
    values: [queuerId, epoch, slots, leaseMs],
  });
  return rows[0]!.no;
};

/**
 * Renews a submitter's lease. False: it was taken for dead, or a later epoch rules; it must end.
 */
export const keepSubmitter = async (db: Queryable, no: number, epoch: number, leaseMs: number): Promise<boolean> =>
  (await keepSubmitters(db, [{ no, epoch }], leaseMs)).has(no);

/** Renews the leases of several submitters; returns those that may go on. */
export const keepSubmitters = async (
  db: Queryable,
  submitters: readonly { no: number; epoch: number }[],
  leaseMs: number,
): Promise<Set<number>> => {
  const { rows } = await db.query<{ no: number }>({
    name: 'keep-submitters',
    text: `
update submitter m set expires_at = clock() + $3 * interval '1 ms'
from unnest($1::bigint[], $2::bigint[]) k (no, epoch), queuer q
where m.no = any($1::bigint[]) and m.no = k.no and m.epoch = k.epoch and q.id = m.queuer_id and q.epoch = m.epoch
returning m.no`,
    values: [submitters.map(({ no }) => no), submitters.map(({ epoch }) => epoch), leaseMs],
  });
  return new Set(rows.map(({ no }) => no));
};
