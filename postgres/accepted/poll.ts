import type { Queryable } from '../pool';

/**
 * Statements about batches that a downstream accepted and will finish later. `poll_at` is the time
 * of the next status request and, moved ahead, the lease of the process that is reading the
 * results; `read_at` says then when it last got on with them. Each read claims an attempt number,
 * which counts against no limit: it guards the settlement and marks the result pages, so that a
 * reader that was paused and then went on neither settles nor mixes its pages into another's.
 */

/**
 * SQL: the results of batch `b` are being read. Reads are leased for at most 15 s. A version before
 * `read_at` leaves it as it is: until all workers are new, a read that died in a new one may be
 * taken for one that has stalled while an old one polls.
 */
export const IS_READ = `b.poll_at > clock() and b.poll_at < clock() + interval '20 s'`;
/** SQL: when their read last got on; null: they are not being read. */
export const READ_AT = `case when ${IS_READ} then b.read_at end`;

/**
 * Claims the read of a batch's results and returns the attempt number under which they are read;
 * null: another reader has claimed it, or the batch has ended.
 */
export const claimRead = async (
  db: Queryable,
  id: number,
  attempt: number,
  leaseMs: number,
): Promise<number | null> => {
  const { rows } = await db.query<{ attempt: number }>({
    name: 'claim-read',
    text: `
update batch set attempt = attempt + 1, read_at = clock(),
  poll_at = case when state = 1 /* open */ then clock() + $3 * interval '1 ms' end
where id = $1 and attempt = $2 and reference is not null and state in (1 /* open */, 3 /* unknown */)
  returning attempt`,
    values: [id, attempt, leaseMs],
  });
  return rows[0]?.attempt ?? null;
};

/** A batch whose next status request is put off. */
export interface PutOff {
  id: number;
  attempt: number;
  /** What is wrong; null: nothing. */
  error: string | null;
  /** How long ago the read of its results last got on, in ms; absent: they are not read. */
  readAgoMs?: number;
}

/** Puts the next status request about these batches off by `inMs`. Guarded like a settlement. */
export const putOffPolls = async (db: Queryable, batches: readonly PutOff[], inMs: number): Promise<void> => {
  await db.query({
    name: 'put-off-polls',
    text: `
update batch b set poll_at = clock() + $4 * interval '1 ms', error = p.error,
  read_at = clock() - p.read_ago_ms * interval '1 ms'
from unnest($1::bigint[], $2::int[], $3::text[], $5::float8[]) p (id, attempt, error, read_ago_ms)
where b.id = p.id and b.attempt = p.attempt and b.state = 1 /* open */ and b.reference is not null`,
    values: [
      batches.map((batch) => batch.id),
      batches.map((batch) => batch.attempt),
      batches.map((batch) => batch.error),
      inMs,
      batches.map((batch) => batch.readAgoMs ?? null),
    ],
  });
};

/**
 * Stops polling a half whose outcome downstream is known and which now waits for its other half.
 */
export const stopPolling = async (db: Queryable, id: number, attempt: number): Promise<void> => {
  await db.query({
    name: 'stop-polling',
    text: 'update batch set poll_at = null where id = $1 and attempt = $2 and state = 1 /* open */',
    values: [id, attempt],
  });
};

/**
 * Returns in how many ms the handler's next status request is due; 0: now, null: nothing is
 * accepted.
 */
export const nextPollInMs = async (db: Queryable, handler: string): Promise<number | null> => {
  const { rows } = await db.query<{ inMs: number }>({
    name: 'next-poll',
    text: `
select greatest(0, ceil(extract(epoch from b.poll_at - clock()) * 1000))::float8 as "inMs"
from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
where h.name = $1 and b.reference is not null and b.state = 1 /* open */ and b.poll_at is not null
  order by b.poll_at limit 1`,
    values: [handler],
  });
  return rows[0]?.inMs ?? null;
};

/** Returns those of the batches whose deadline passed at least `graceMs` ago. */
export const pastDeadline = async (db: Queryable, ids: readonly number[], graceMs: number): Promise<Set<number>> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'past-deadline',
    text: `select id from batch where id = any($1::bigint[]) and poll_until <= clock() - $2 * interval '1 ms'`,
    values: [ids, graceMs],
  });
  return new Set(rows.map((row) => row.id));
};

/** Pauses the handler, unless it is paused already: the first reason stays. */
export const haltHandler = async (db: Queryable, handler: string, reason: string): Promise<void> => {
  await db.query({
    name: 'halt-handler',
    text: 'update handler set paused_at = clock(), pause_reason = $2 where name = $1 and paused_at is null',
    values: [handler, reason],
  });
};

/** Pauses one target of a handler, as `haltHandler` pauses all. */
export const haltTarget = async (db: Queryable, targetId: number, reason: string): Promise<void> => {
  await db.query({
    name: 'halt-target',
    text: 'update target set paused = true, paused_at = clock(), pause_reason = $2 where id = $1 and not paused',
    values: [targetId, reason],
  });
};

/**
 * Returns the handlers with accepted batches whose status request, or with a cancellation whose
 * call, has been due for this long: their monitor sleeps or is gone. For the sweeper.
 */
export const overdueHandlers = async (db: Queryable, overdueMs: number): Promise<string[]> => {
  const { rows } = await db.query<{ handler: string }>({
    name: 'overdue-handlers',
    text: `
select distinct h.name as handler
from (
  select b.target_id
  from batch b
  where b.reference is not null and b.state = 1 /* open */ and b.poll_at < clock() - $1 * interval '1 ms'
  order by b.poll_at limit 10000) b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
union select h.name
from handler h
where exists (
  select from cancellation c
  where c.handler_id = h.id and c.state = 0 /* requested */ and c.next_at < clock() - $1 * interval '1 ms')
order by 1`,
    values: [overdueMs],
  });
  return rows.map((row) => row.handler);
};

/**
 * Says whether no older batch of the handler is accepted and unfinished: its monitor may have ended
 * for lack of one.
 */
export const isFirstAccepted = async (db: Queryable, handler: string, batchId: number): Promise<boolean> => {
  const { rows } = await db.query<{ first: boolean }>({
    name: 'is-first-accepted',
    text: `
select not exists (
  select from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
  where h.name = $1 and b.reference is not null and b.state = 1 /* open */ and b.poll_at is not null
    and b.id < $2) as first`,
    values: [handler, batchId],
  });
  return rows[0]!.first;
};
