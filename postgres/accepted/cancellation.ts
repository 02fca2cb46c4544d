import type { Client, Queryable } from '../pool';

/**
 * Statements about accepted batches that Muster gave up and that the downstream is to cancel. A row
 * is written in the transaction that gives the batch up, so that a crash loses none. Taking a row
 * leases it by moving its `next_at` ahead, and raises `tries`, which fences out a caller whose
 * lease has passed.
 */

/**
 * The states of a row, kept as long as its batch; the numbers are those of
 * `workflows/planning/calls/cancellation.ts`.
 */
export interface CancellationRow {
  reference: string;
  cause: number;
  state: number;
  tries: number;
  error: string | null;
  requestedAt: string;
  endedAt: string | null;
  nextInMs: number | null;
}

/**
 * Gives up these references without a caller's request; a reference that was given up before stays
 * as it is. Locks nothing: the caller holds the batch.
 */
export const giveUp = async (client: Client, batchId: number, reference: string, cause: number): Promise<void> => {
  await client.query({
    name: 'give-up',
    text: `
insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at)
select b.id, t.handler_id, $2, $3::smallint, clock(), clock()
from batch b join target t on t.id = b.target_id
where b.id = $1
on conflict (batch_id, md5(reference)) do nothing`,
    values: [batchId, reference, cause],
  });
};

export interface CancelledAccepted {
  handler: string;
  target: string;
  state: number;
  /** The downstream has the batch and has not reported its outcome. */
  accepted: boolean;
  calling: boolean;
  /** The handler has a `cancel`. */
  cancels: boolean;
  /**
   * State of the cancellation that a caller asked for; null: no caller asked, or it is impossible.
   */
  cancellation: number | null;
}

/**
 * Requests the cancellation of an accepted batch, once; null: there is no such batch. Locks the
 * batch's row, as a settlement does.
 */
export const cancelAccepted = async (client: Client, batchId: number): Promise<CancelledAccepted | null> => {
  const values = [batchId];
  await client.query({ name: 'lock-to-cancel', text: 'select from batch where id = $1 for no key update', values });
  const { rows } = await client.query<CancelledAccepted>({
    name: 'cancel-accepted',
    text: `
with found as materialized (
  select b.id, b.reference, b.state, b.attempt_until is not null as calling, h.id as handler_id, h.name as handler,
    h.cancels, t.key as target, b.state = 1 /* open */ and b.reference is not null and b.attempt_until is null
    and not b.refused as accepted
  from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
  where b.id = $1),
wanted as (
  insert into cancellation as c (batch_id, handler_id, reference, why, next_at, requested_at)
  select id, handler_id, reference, 0, clock(), clock()
  from found
  where accepted and cancels
  on conflict (batch_id, md5(reference)) do update set why = 0 /* caller */, state = 0 /* requested */, tries = 0,
    error = null, next_at = clock(), requested_at = clock(), ended_at = null
  where c.why <> 0 /* caller */
  returning state)
select f.handler, f.target, f.state, f.accepted, f.calling, f.cancels, coalesce(
  (select w.state from wanted w),
  (select c.state
   from cancellation c
   where c.batch_id = f.id and c.why = 0 /* caller */
   order by c.id desc limit 1)) as cancellation
from found f`,
    values,
  });
  return rows[0] ?? null;
};

/**
 * Says whether a caller asked for the batch to be cancelled, so that nothing of it is sent again.
 * Call it after locking the batch's row.
 */
export const isCancelled = async (client: Client, batchId: number): Promise<boolean> => {
  const { rows } = await client.query<{ cancelled: boolean }>({
    name: 'is-cancelled',
    text: 'select exists (select from cancellation where batch_id = $1 and why = 0 /* caller */) as cancelled',
    values: [batchId],
  });
  return rows[0]!.cancelled;
};

/**
 * Moves the cancellation to the reference under which the downstream turned out to have the batch.
 */
export const cancelAs = async (client: Client, batchId: number, reference: string): Promise<void> =>
  giveUp(client, batchId, reference, 0);

export interface TakenCancellation {
  id: number;
  batchId: number;
  reference: string;
  cause: number;
  /** Calls begun, this one included. */
  tries: number;
  /** State of the batch; null: it was deleted after its retention period. */
  batchState: number | null;
  /** The batch is accepted under this very reference, and its status is being polled. */
  awaited: boolean;
}

/**
 * Takes the handler's due cancellations, oldest first, for `leaseMs`; skips what another process is
 * taking.
 */
export const takeDueCancellations = async (
  db: Queryable,
  handler: string,
  limit: number,
  leaseMs: number,
): Promise<TakenCancellation[]> => {
  const { rows } = await db.query<TakenCancellation>({
    name: 'take-due-cancellations',
    text: `
with due as materialized (
  select c.id
  from cancellation c
  where c.handler_id = (select h.id from handler h where h.name = $1) and c.state = 0 /* requested */
    and c.next_at <= clock()
  order by c.next_at limit $2 for no key update skip locked)
update cancellation c set tries = c.tries + 1, next_at = clock() + $3 * interval '1 ms'
from due d, cancellation o left join batch b on b.id = o.batch_id
where c.id = d.id and o.id = d.id
returning c.id, c.batch_id as "batchId", c.reference, c.why as cause, c.tries, b.state as "batchState",
  coalesce(b.state = 1 /* open */ and b.reference = c.reference, false) as awaited`,
    values: [handler, limit, leaseMs],
  });
  return rows;
};

/** Records the downstream's answer. Writes nothing if a later call has begun. */
export const endCancellation = async (
  db: Queryable,
  { id, tries }: Pick<TakenCancellation, 'id' | 'tries'>,
  state: number,
  error: string | null,
): Promise<void> => {
  await db.query({
    name: 'end-cancellation',
    text: `
update cancellation set state = $3, next_at = null, ended_at = clock(), error = $4
where id = $1 and tries = $2 and state = 0 /* requested */`,
    values: [id, tries, state, error],
  });
};

export const putOffCancellation = async (
  db: Queryable,
  { id, tries }: Pick<TakenCancellation, 'id' | 'tries'>,
  inMs: number,
  error: string,
): Promise<void> => {
  await db.query({
    name: 'put-off-cancellation',
    text: `
update cancellation set next_at = clock() + $3 * interval '1 ms', error = $4
where id = $1 and tries = $2 and state = 0 /* requested */`,
    values: [id, tries, inMs, error],
  });
};

/** Returns the handlers of these targets whose monitors have a cancellation to send now. */
export const handlersToCancel = async (db: Queryable, targetIds: readonly number[]): Promise<string[]> => {
  const { rows } = await db.query<{ handler: string }>({
    name: 'handlers-to-cancel',
    text: `
select h.name as handler
from handler h
where h.id in (select t.handler_id from target t where t.id = any($1::int[])) and exists (
  select from cancellation c
  where c.handler_id = h.id and c.state = 0 /* requested */ and c.next_at <= clock())
order by 1`,
    values: [targetIds],
  });
  return rows.map((row) => row.handler);
};

/**
 * Returns in how many ms the handler's next cancellation call is due, counting calls in progress by
 * the end of their lease; 0: now, null: there is none.
 */
export const nextCancellationInMs = async (db: Queryable, handler: string): Promise<number | null> => {
  const { rows } = await db.query<{ inMs: number }>({
    name: 'next-cancellation',
    text: `
select greatest(0, ceil(extract(epoch from c.next_at - clock()) * 1000))::float8 as "inMs"
from cancellation c
where c.handler_id = (select h.id from handler h where h.name = $1) and c.state = 0 /* requested */
order by c.next_at limit 1`,
    values: [handler],
  });
  return rows[0]?.inMs ?? null;
};

/** The latest cancellation of batch `b.id` as JSON, for statements that show it. */
export const CANCELLATION_OF_BATCH = `(
  select json_build_object('reference', c.reference, 'cause', c.why, 'state', c.state, 'tries', c.tries, 'error',
    c.error, 'requestedAt', c.requested_at, 'endedAt', c.ended_at,
    'nextInMs', (extract(epoch from c.next_at - clock()) * 1000)::float8)
  from cancellation c where c.batch_id = b.id order by c.id desc limit 1)`;
