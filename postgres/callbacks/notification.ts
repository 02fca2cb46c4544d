import { INSTALLATION } from '../installation';
import { createdUs } from '../created';
import type { Queryable } from '../pool';

/**
 * A message of the outbox that this process is delivering. The transaction that settles a batch
 * writes the row (`settle.ts`). Taking it leases it by moving its `next_at` ahead, and raises
 * `attempts`, which fences out a process whose lease has passed.
 */
export interface TakenNotification {
  id: number;
  /** By which its receiver knows it, the same in every attempt; no other message ever has it. */
  messageId: string;
  batchId: number | null;
  /** Attempt of the batch: it says which result pages count. */
  batchAttempt: number | null;
  /** Deliveries begun, this one included. */
  attempts: number;
  /** End of the lease, as Postgres writes it. */
  leasedUntil: string;
  kind: 'workflow' | 'webhook';
  address: unknown;
  /** Host that a webhook goes to; null: a workflow is signalled. */
  host: string | null;
  /** ISO time of the batch's end; null: there was no batch. */
  endedAt: string | null;
  /** Null: the body is large and is read by `readBody`. */
  body: unknown;
}

/** Bodies above this (as stored) are read one at a time. */
const LARGE_BODY = 65_536;

/**
 * Key of a webhook's host, with its port if the URL names another than 80 or 443. Null: a workflow
 * is signalled. One host has one share in each spelling that submits by SQL take; the client
 * library stores each host in one spelling. `replace` costs a tenth of one more regular expression
 * here, where rows of a full host are looked at by the hundred thousand.
 */
const HOST = `lower(regexp_replace(replace(replace(replace(coalesce(
  substring(i.address->>'url' from '^[^:/?#]+:[/\\\\]+(?:[^/?#\\\\]*@)?([^/?#\\\\]*)'), i.address->>'url'),
  '.:', ':'), ':0', ':'), ':0', ':'), '\\.?(:0*(80|443)?)?$', ''))`;
/** Rows that one take looks at. */
const CANDIDATES = 1_000;

export interface Take {
  limit: number;
  leaseMs: number;
  /** Hosts to leave out. */
  except: readonly string[];
  /** Most messages per host. */
  perHost: number;
  /** Only messages that were never tried. */
  firstOnly: boolean;
}

/** Takes due messages, oldest first, for `leaseMs`; skips what another process is taking. */
export const takeDueNotifications = async (
  db: Queryable,
  { limit, leaseMs, except, perHost, firstOnly }: Take,
): Promise<TakenNotification[]> => {
  const { rows } = await db.query<TakenNotification>({
    name: 'take-due-notifications',
    text: `
with candidate as materialized (
  select n.id, n.next_at, ${HOST} as host
  from notification n join recipient i on i.id = n.recipient_id
  where n.done_at is null and n.next_at <= clock() and (n.attempts = 0 or not $6)
    and (${HOST} = any($4::text[])) is not true
  order by n.next_at limit ${CANDIDATES}),
placed as (select id, next_at, host, row_number() over (partition by host order by next_at) as place from candidate),
due as materialized (
  select id
  from notification
  where id in (select id from placed where host is null or place <= $5 order by next_at limit $1) and done_at is null
    and next_at <= clock() for no key update skip locked)
update notification n set attempts = n.attempts + 1, next_at = clock() + $2 * interval '1 ms'
from due d, recipient i, notification o left join batch b on b.id = o.batch_id
where n.id = d.id and o.id = d.id and i.id = n.recipient_id
returning n.id, 'msg_' || ${INSTALLATION} || '_' || n.id || coalesce('_' || ${createdUs('n')}, '') as "messageId",
  n.batch_id as "batchId", n.attempt as "batchAttempt", n.attempts, n.next_at::text as "leasedUntil", i.kind,
  i.address, ${HOST} as host,
  to_char(b.finished_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "endedAt",
  case when pg_column_size(n.body) < $3 then n.body end as body`,
    values: [limit, leaseMs, LARGE_BODY, except, perHost, firstOnly],
  });
  return rows;
};

export const readBody = async (db: Queryable, id: number): Promise<unknown> => {
  const { rows } = await db.query<{ body: unknown }>({
    name: 'read-notification-body',
    text: 'select body from notification where id = $1',
    values: [id],
  });
  return rows[0]?.body ?? null;
};

/**
 * Ends a message: delivered, or given up (`error` says why). Writes nothing if a later delivery has
 * begun.
 */
export const endNotification = async (
  db: Queryable,
  id: number,
  attempts: number,
  error: string | null,
): Promise<void> => {
  await db.query({
    name: 'end-notification',
    text: `update notification set done_at = clock(), next_at = null, error = $3 where id = $1 and attempts = $2
      and done_at is null`,
    values: [id, attempts, error],
  });
};

export const putOffNotification = async (
  db: Queryable,
  id: number,
  attempts: number,
  inMs: number,
  error: string,
): Promise<void> => {
  await db.query({
    name: 'put-off-notification',
    text: `
update notification set next_at = clock() + $3 * interval '1 ms', error = $4
where id = $1 and attempts = $2 and done_at is null`,
    values: [id, attempts, inMs, error],
  });
};

/**
 * Makes a message due again, after a while, that was not tried: its attempt does not count. Its
 * lease tells it from the same message taken again.
 */
export const putBackNotification = async (
  db: Queryable,
  { id, attempts, leasedUntil }: Pick<TakenNotification, 'id' | 'attempts' | 'leasedUntil'>,
  inMs: number,
  error: string,
): Promise<void> => {
  await db.query({
    name: 'put-back-notification',
    text: `
update notification set next_at = clock() + $3 * interval '1 ms', error = $4, attempts = attempts - 1
where id = $1 and attempts = $2 and next_at = $5::timestamptz and done_at is null`,
    values: [id, attempts, inMs, error, leasedUntil],
  });
};

/**
 * Makes messages due again that were taken, and whose delivery has not begun: nothing counts. Their
 * lease tells them from the same messages taken again: the server may do a statement late.
 */
export const returnNotifications = async (
  db: Queryable,
  taken: readonly Pick<TakenNotification, 'id' | 'leasedUntil'>[],
): Promise<void> => {
  await db.query({
    name: 'return-notifications',
    text: `
update notification n set next_at = clock(), attempts = n.attempts - 1
from unnest($1::bigint[], $2::timestamptz[]) r (id, leased_until)
where n.id = any($1::bigint[]) and n.id = r.id and n.next_at = r.leased_until and n.done_at is null`,
    values: [taken.map(({ id }) => id), taken.map(({ leasedUntil }) => leasedUntil)],
  });
};

/**
 * Returns in how many ms the next message is due, counting messages in delivery by the end of their
 * lease; 0: now, null: there is none.
 */
export const nextNotificationInMs = async (db: Queryable): Promise<number | null> => {
  const { rows } = await db.query<{ inMs: number }>({
    name: 'next-notification',
    text: `
select greatest(0, ceil(extract(epoch from next_at - clock()) * 1000))::float8 as "inMs"
from notification
where done_at is null and next_at is not null
order by next_at limit 1`,
  });
  return rows[0]?.inMs ?? null;
};

/** Says whether a message has been due for this long and no notifier took it. For the sweeper. */
export const hasOverdueNotifications = async (db: Queryable, overdueMs: number): Promise<boolean> => {
  const { rows } = await db.query<{ overdue: boolean }>({
    name: 'has-overdue-notifications',
    text: `select exists (select from notification where done_at is null
      and next_at < clock() - $1 * interval '1 ms') as overdue`,
    values: [overdueMs],
  });
  return rows[0]!.overdue;
};
