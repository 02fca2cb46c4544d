import type { CallbackState } from '../../workflows/planning/callbacks/undelivered';
import { createdUs } from '../created';
import { INSTALLATION } from '../installation';
import type { Queryable } from '../pool';

/**
 * Statements about callbacks that were tried and not delivered: those that have an error. A page
 * looks at so many, the newest first, so that it takes as long at any size of the store.
 */
export interface UndeliveredScope {
  /** Null: of all handlers, and of fan-outs. */
  handler: string | null;
  /** True: only those that were given up; false: only those that are tried again; null: both. */
  givenUp: boolean | null;
}

/** The handler of a callback: its batch's, or the one that a message without a batch names. */
const HANDLER = `coalesce((
    select h.name
    from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
    where b.id = n.batch_id), case when n.batch_id is null and n.fanout_id is null then n.body->>'handler' end)`;

const FOUND = `n.id, n.batch_id, n.fanout_id, n.attempts, n.recipient_id, n.error, n.created_at, n.next_at, n.done_at,
    ${HANDLER} as handler`;
const LOOKED = `
  select ${FOUND}
  from (
    select *
    from notification n
    where n.error is not null and n.id < $1::bigint
    order by n.id desc limit $2) n`;
const MATCHES = `($3::text is null or l.handler = $3) and ($4::bool is null or (l.done_at is not null) = $4)`;

export interface UndeliveredRow {
  id: number;
  messageId: string;
  handler: string | null;
  batchId: number | null;
  fanout: string | null;
  kind: 'workflow' | 'webhook';
  address: Record<string, string>;
  attempts: number;
  error: string;
  createdAt: Date | null;
  nextAt: Date | null;
  doneAt: Date | null;
}

const SHOWN = `l.id,
  'msg_' || ${INSTALLATION} || '_' || l.id || coalesce('_' || ${createdUs('l')}, '') as "messageId", l.handler,
  l.batch_id as "batchId", (select f.public_id from fanout f where f.id = l.fanout_id) as fanout, i.kind, i.address,
  l.attempts, l.error, l.created_at as "createdAt", l.next_at as "nextAt", l.done_at as "doneAt"`;

export const listUndelivered = async (
  db: Queryable,
  { handler, givenUp }: UndeliveredScope,
  before: number,
  limit: number,
): Promise<(UndeliveredRow & { matches: boolean })[]> => {
  const { rows } = await db.query<UndeliveredRow & { matches: boolean }>({
    name: 'list-undelivered',
    text: `
select coalesce(${MATCHES}, false) as matches, ${SHOWN}
from (${LOOKED}) l join recipient i on i.id = l.recipient_id
order by l.id desc`,
    values: [before, limit, handler, givenUp],
  });
  return rows;
};

/** Returns those of these that were tried and not delivered, the newest first. */
export const readUndelivered = async (db: Queryable, ids: readonly number[]): Promise<UndeliveredRow[]> => {
  const { rows } = await db.query<UndeliveredRow>({
    name: 'read-undelivered',
    text: `
select ${SHOWN}
from (
  select ${FOUND}
  from notification n
  where n.id = any($1::bigint[]) and n.error is not null) l join recipient i on i.id = l.recipient_id
order by l.id desc`,
    values: [ids],
  });
  return rows;
};

/** Most callbacks that are counted: more say no more. */
const COUNTED_MAX = 10_000;

/** Counts callbacks that were tried and not delivered, by `CallbackState`. */
export const UNDELIVERED_COUNTS = `
select count(*) filter (where n.done_at is null)::float8 as retrying,
  count(n.done_at)::float8 as "given-up"
from (select done_at from notification where error is not null order by id desc limit ${COUNTED_MAX}) n`;

export const countUndelivered = async (db: Queryable): Promise<Record<CallbackState, number>> => {
  const { rows } = await db.query<Record<CallbackState, number>>({
    name: 'count-undelivered',
    text: UNDELIVERED_COUNTS,
  });
  return rows[0]!;
};

/** Makes them due, the given-up ones as if they had never been tried. */
const SENT = `
sent as (
  update notification n set next_at = clock(), done_at = null, attempts = case
    when n.done_at is null then n.attempts else 0 end
  from chosen c
  where n.id = c.id and n.error is not null
  returning n.id)`;

/** Says which of these callbacks were tried and not delivered. */
export const findUndelivered = async (db: Queryable, ids: readonly number[]): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'find-undelivered',
    text: 'select id from notification where id = any($1::bigint[]) and error is not null',
    values: [ids],
  });
  return rows.map(({ id }) => id);
};

/** Sends these again; returns how many. */
export const sendAgain = async (db: Queryable, ids: readonly number[]): Promise<number> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'send-undelivered-again',
    text: `
with chosen as (select unnest($1::bigint[]) as id),
${SENT}
select id
from sent`,
    values: [ids],
  });
  return rows.length;
};

export interface SentSome {
  sent: number;
  /** Where to go on; null: there are no more. */
  before: number | null;
}

/** Looks at so many, and sends at most `limit` of those that match again. */
export const sendSomeAgain = async (
  db: Queryable,
  { handler, givenUp }: UndeliveredScope,
  before: number,
  { looked, limit }: { looked: number; limit: number },
): Promise<SentSome> => {
  const { rows } = await db.query<SentSome>({
    name: 'send-some-undelivered-again',
    text: `
with looked as materialized (${LOOKED}),
chosen as materialized (
  select l.id
  from looked l
  where ${MATCHES}
  order by l.id desc limit $5),
${SENT}
select (select count(*) from sent)::int as sent,
  case when (select count(*) from looked) = $2 then (select min(l.id) from looked l) end as before`,
    values: [before, looked, handler, givenUp, limit],
  });
  return rows[0]!;
};
