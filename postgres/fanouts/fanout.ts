import type { Queryable } from '../pool';

/**
 * Statements about rows of `fanout`: opened, added to, sealed, read. Acks are in `ack.ts`, expiry
 * and deletion in `reap.ts`.
 */

export interface FanoutRow {
  id: string;
  userKey: string | null;
  /** Its number in `FANOUT_STATES`. */
  state: number;
  segmentSize: number;
  items: number;
  segments: number;
  openSegments: number;
  openedAt: Date;
  activeAt: Date;
  sealedAt: Date | null;
  completedAt: Date | null;
  expiredAt: Date | null;
}

export interface NewFanout {
  /** Null: the store gives it a new id. */
  id: string | null;
  userKey: string | null;
  segmentSize: number;
  recipientId: number | null;
  /** Null: of no tenant. */
  tenant: string | null;
}

/**
 * Inserts a fan-out; null: there is one with this id already (`findFanoutOpening` tells how it was
 * opened).
 */
export const insertFanout = async (db: Queryable, fanout: NewFanout): Promise<string | null> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'insert-fanout',
    text: `
insert into fanout (public_id, user_key, segment_size, recipient_id, opened_at, active_at, tenant)
values (coalesce($1::uuid, gen_random_uuid()), $2, $3, $4, clock(), clock(), $5)
on conflict (public_id) do nothing
returning public_id as id`,
    values: [fanout.id, fanout.userKey, fanout.segmentSize, fanout.recipientId, fanout.tenant],
  });
  return rows[0]?.id ?? null;
};

export interface FanoutOpening {
  userKey: string | null;
  segmentSize: number;
  /** Who is told of its end; null: no one is. */
  address: unknown;
  /** Null: of no tenant. */
  tenant: string | null;
  /** Its retention period has passed, and its rows are being deleted. */
  isDeleted: boolean;
}

/** Returns how a fan-out was opened: a repeated open with the same settings is the same fan-out. */
export const findFanoutOpening = async (db: Queryable, id: string): Promise<FanoutOpening | null> => {
  const { rows } = await db.query<FanoutOpening>({
    name: 'find-fanout-opening',
    text: `
select f.user_key as "userKey", f.segment_size as "segmentSize", r.address, f.tenant,
  f.state = 4 /* deleted */ as "isDeleted"
from fanout f
left join recipient r on r.id = f.recipient_id
where f.public_id = $1::uuid`,
    values: [id],
  });
  return rows[0] ?? null;
};

/**
 * Inserts segments; null: the fan-out is not open, or there is none. With a key that was used
 * before it throws 23505, and nothing is added.
 */
export const insertSegments = async (
  db: Queryable,
  id: string,
  items: number,
  key: string | null,
): Promise<{ first: number; segmentSize: number } | null> => {
  // `$2::int` throughout: beside a smallint the parameter would become one, and end at 32,767. The
  // guarded update comes first: two adds that each locked the row shared, to read it, and then
  // updated it would deadlock.
  const { rows } = await db.query<{ first: number; segmentSize: number }>({
    name: 'insert-segments',
    text: `
with f as (
  update fanout set segments = segments + ($2::int + segment_size - 1) / segment_size,
    open_segments = open_segments + ($2::int + segment_size - 1) / segment_size, items = items + $2::int,
    active_at = case when active_at < clock() - interval '1 minute' then clock() else active_at end
  where public_id = $1::uuid and state = 0 /* open */
  returning id, segment_size, segments - ($2::int + segment_size - 1) / segment_size as first,
    ($2::int + segment_size - 1) / segment_size as n),
kept as (
  insert into fanout_add (fanout_id, key, first, items)
  select id, $3::text, first, $2::int
  from f
  where $3 is not null),
made as (
  insert into segment (fanout_id, no, size, bits)
  select f.id, f.first + i, s.size, ones(s.size)
  from f cross join lateral generate_series(0, f.n - 1) i
    cross join lateral (select least(f.segment_size, $2::int - i * f.segment_size) as size) s)
select first, segment_size as "segmentSize"
from f`,
    values: [id, items, key],
  });
  return rows[0] ?? null;
};

/** Returns what an add with this key made. */
export const findAdd = async (
  db: Queryable,
  id: string,
  key: string,
): Promise<{ first: number; items: number; segmentSize: number } | null> => {
  const { rows } = await db.query<{ first: number; items: number; segmentSize: number }>({
    name: 'find-add',
    text: `
select a.first, a.items, f.segment_size as "segmentSize"
from fanout f join fanout_add a on a.fanout_id = f.id
where f.public_id = $1::uuid and a.key = $2`,
    values: [id, key],
  });
  return rows[0] ?? null;
};

/** Counts the items that adds with these keys have added. */
export const countAdded = async (db: Queryable, id: string, keys: readonly string[]): Promise<number> => {
  const { rows } = await db.query<{ items: number }>({
    name: 'count-added',
    text: `
select coalesce(sum(a.items), 0)::float8 as items
from fanout f
join fanout_add a on a.fanout_id = f.id
where f.public_id = $1::uuid and a.key = any($2::text[])`,
    values: [id, keys],
  });
  return rows[0]!.items;
};

/** What ended, as reported to the caller whose ack or seal ended it. */
export interface CompletedRow {
  id: string;
  userKey: string | null;
  items: number;
  completedAt: string;
  /** A message about it was written in the same transaction. */
  told: boolean;
}

/**
 * Seals a fan-out; null: it is not open, or there is none. `completed`: nothing was left, so this
 * seal completed it.
 */
export const sealFanout = async (
  db: Queryable,
  id: string,
): Promise<{ completed: CompletedRow | null; items: number } | null> => {
  const { rows } = await db.query<{ state: number; items: number } & CompletedRow>({
    name: 'seal-fanout',
    text: `
with f as (
  update fanout set sealed_at = clock(), active_at = clock(),
    state = case when open_segments = 0 then 2 /* complete */ else 1 /* sealed */ end,
    completed_at = case when open_segments = 0 then clock() end
  where public_id = $1::uuid and state = 0 /* open */
  returning *),
event as (
  insert into notification (fanout_id, recipient_id, body, next_at)
  select id, recipient_id, fanout_event(public_id, user_key, state, items, completed_at), clock()
  from f
  where state = 2 /* complete */ and recipient_id is not null)
select public_id as id, user_key as "userKey", state, items,
  to_char(completed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "completedAt",
  recipient_id is not null as told
from f`,
    values: [id],
  });
  if (rows[0] === undefined) return null;
  const { state, ...row } = rows[0];
  return { items: row.items, completed: state === 2 ? row : null };
};

export const readFanout = async (db: Queryable, id: string): Promise<FanoutRow | null> => {
  const { rows } = await db.query<FanoutRow>({
    name: 'read-fanout',
    text: `
select public_id as id, user_key as "userKey", state, segment_size as "segmentSize", items, segments,
  open_segments as "openSegments", opened_at as "openedAt", active_at as "activeAt", sealed_at as "sealedAt",
  completed_at as "completedAt", expired_at as "expiredAt"
from fanout
where public_id = $1::uuid and state < 4 /* not deleted */`,
    values: [id],
  });
  return rows[0] ?? null;
};

/** Counts the items that are not acked, in the bits: reads one byte for every eight items. */
export const countOpenItems = async (db: Queryable, id: string): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    name: 'count-open-items',
    text: `
select coalesce(sum(bit_count(s.bits)), 0)::bigint as n
from fanout f join segment s on s.fanout_id = f.id
where f.public_id = $1::uuid`,
    values: [id],
  });
  return rows[0]!.n;
};
