import type { Client, Queryable } from '../pool';

/**
 * Accepted batches that were given up. A row is written in the transaction that gives the batch up,
 * so that a crash loses none; the one that is being called is leased by moving its `next_at` ahead,
 * and `tries`, raised when it is taken, fences a caller whose lease has passed.
 */

/**
 * What stands in the row as long as the batch does; numbers as in
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
 * Gives up these references, for no caller's sake; one that was given up before stays as it is.
 * Locks nothing: the caller holds the batch.
 */
export const giveUp = async (client: Client, batchId: number, reference: string, cause: number): Promise<void> => {
  await client.query({
    name: 'give-up',
    text: `
insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at)
select b.id, t.handler_id, $2, $3::smallint, clock(), clock() from batch b join target t on t.id = b.target_id
  where b.id = $1
on conflict (batch_id, md5(reference)) do nothing`,
    values: [batchId, reference, cause],
  });
};

export interface CancelledAccepted {
  handler: string;
  target: string;
  state: number;
  /** The downstream has it and has not said what became of it. */
  accepted: boolean;
  calling: boolean;
  /** The handler has a `cancel`. */
  cancels: boolean;
  /** Of the cancellation that a caller asked for; null: nobody did, or it cannot be. */
  cancellation: number | null;
}

/**
 * Asks for the cancellation of an accepted batch, once; null: there is no such batch. The batch's
 * row is locked, as a settlement locks it.
 */
export const cancelAccepted = async (client: Client, batchId: number): Promise<CancelledAccepted | null> => {
  const values = [batchId];
  await client.query({ name: 'lock-to-cancel', text: 'select from batch where id = $1 for no key update', values });
  const { rows } = await client.query<CancelledAccepted>({
    name: 'cancel-accepted',
    text: `
with found as materialized (
  select b.id, b.reference, b.state, b.attempt_until is not null as calling, h.id as handler_id, h.name as handler,
    h.cancels, t.key as target,
    b.state = 1 /* open */ and b.reference is not null and b.attempt_until is null and not b.refused as accepted
  from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id where b.id = $1),
wanted as (
  insert into cancellation as c (batch_id, handler_id, reference, why, next_at, requested_at)
  select id, handler_id, reference, 0, clock(), clock() from found where accepted and cancels
  on conflict (batch_id, md5(reference)) do update
    set why = 0, state = 0 /* requested */, tries = 0, error = null, next_at = clock(), requested_at = clock(),
      ended_at = null where c.why <> 0
  returning state)
select f.handler, f.target, f.state, f.accepted, f.calling, f.cancels,
  coalesce((select w.state from wanted w), (select c.state from cancellation c where c.batch_id = f.id
    and c.why = 0 order by c.id desc limit 1)) as cancellation
from found f`,
    values,
  });
  return rows[0] ?? null;
};

/**
 * A caller asked for the batch to be cancelled, so nothing of it is sent again. After its row was
 * locked.
 */
export const isCancelled = async (client: Client, batchId: number): Promise<boolean> => {
  const { rows } = await client.query<{ cancelled: boolean }>({
    name: 'is-cancelled',
    text: 'select exists (select from cancellation where batch_id = $1 and why = 0) as cancelled',
    values: [batchId],
  });
  return rows[0]!.cancelled;
};

/**
 * The cancellation follows the batch to a reference under which the downstream turned out to have
 * it.
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
  /** Of the batch; null: it is not kept any more. */
  batchState: number | null;
  /** The batch is accepted under this very reference, and asked about. */
  awaited: boolean;
}

/**
 * Takes those of the handler that are due, oldest first, for `leaseMs`; skips what another process
 * is taking.
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
  select c.id from cancellation c where c.handler_id = (select h.id from handler h where h.name = $1)
    and c.state = 0 /* requested */ and c.next_at <= clock()
  order by c.next_at limit $2 for no key update skip locked)
update cancellation c set tries = c.tries + 1, next_at = clock() + $3 * interval '1 ms'
from due d, cancellation o left join batch b on b.id = o.batch_id where c.id = d.id and o.id = d.id
returning c.id, c.batch_id as "batchId", c.reference, c.why as cause, c.tries, b.state as "batchState",
  coalesce(b.state = 1 /* open */ and b.reference = c.reference, false) as awaited`,
    values: [handler, limit, leaseMs],
  });
  return rows;
};

/** Records the answer. Nothing is written where a later call has begun. */
export const endCancellation = async (
  db: Queryable,
  { id, tries }: Pick<TakenCancellation, 'id' | 'tries'>,
  state: number,
  error: string | null,
): Promise<void> => {
  await db.query({
    name: 'end-cancellation',
    text: `
update cancellation set state = $3, next_at = null, ended_at = clock(), error = $4 where id = $1 and tries = $2
  and state = 0 /* requested */`,
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
update cancellation set next_at = clock() + $3 * interval '1 ms', error = $4 where id = $1 and tries = $2
  and state = 0 /* requested */`,
    values: [id, tries, inMs, error],
  });
};

/** Handlers of these targets whose monitors have a cancellation to send now. */
export const handlersToCancel = async (db: Queryable, targetIds: readonly number[]): Promise<string[]> => {
  const { rows } = await db.query<{ handler: string }>({
    name: 'handlers-to-cancel',
    text: `
select h.name as handler from handler h where h.id in (select t.handler_id from target t where t.id = any($1::int[]))
  and exists (select from cancellation c where c.handler_id = h.id and c.state = 0 /* requested */
    and c.next_at <= clock()) order by 1`,
    values: [targetIds],
  });
  return rows.map((row) => row.handler);
};

/**
 * In how many ms the next call of the handler is due, those under way counted by the end of their
 * lease; 0: now, null: there is none.
 */
export const nextCancellationInMs = async (db: Queryable, handler: string): Promise<number | null> => {
  const { rows } = await db.query<{ inMs: number }>({
    name: 'next-cancellation',
    text: `
select greatest(0, ceil(extract(epoch from c.next_at - clock()) * 1000))::float8 as "inMs" from cancellation c
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
