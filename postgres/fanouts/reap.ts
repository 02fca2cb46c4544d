import type { Pool, Queryable } from '../pool';

/**
 * Expires and deletes fan-outs without activity: first they get an explicit state, with its event;
 * later their rows are deleted.
 */

export interface ExpiredFanouts {
  fanouts: number;
  /** All items, acked or not. */
  items: number;
  /** Number of these for which a message was written. */
  told: number;
}

/**
 * Expires fan-outs in this state (0 open, 1 sealed) without activity for `idleMs`, the longest idle
 * first, and writes their event in the same statement. The condition is checked again under the
 * row's lock: an add or ack meanwhile keeps the fan-out alive.
 */
export const expireFanouts = async (
  db: Queryable,
  state: 0 | 1,
  idleMs: number,
  limit: number,
): Promise<ExpiredFanouts> => {
  const { rows } = await db.query<ExpiredFanouts>({
    name: 'expire-fanouts',
    text: `
with idle as materialized (
  select id
  from fanout
  where state = $1 and active_at <= clock() - $2::float8 * interval '1 ms'
  order by active_at limit $3 for no key update skip locked),
gone as (
  update fanout f set state = 3 /* expired */, expired_at = clock(), active_at = clock()
  from idle i
  where f.id = i.id and f.state = $1
  returning f.*),
event as (
  insert into notification (fanout_id, recipient_id, body, next_at)
  select id, recipient_id, fanout_event(public_id, user_key, state, items, expired_at), clock()
  from gone
  where recipient_id is not null)
select count(*)::int as fanouts, coalesce(sum(items), 0)::bigint as items,
  (count(*) filter (where recipient_id is not null))::int as told
from gone`,
    values: [state, idleMs, limit],
  });
  return rows[0]!;
};

/**
 * Makes fan-outs invisible that ended so long ago, and whose event, if they have one, is delivered
 * or given up.
 */
const discardFanouts = async (db: Queryable, endedMs: number, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'discard-fanouts',
    text: `
with over as materialized (
  select f.id
  from fanout f
  where f.state in (2 /* complete */, 3 /* expired */) and f.active_at <= clock() - $1::float8 * interval '1 ms'
    and not exists (select from notification n where n.fanout_id = f.id and n.done_at is null)
  order by f.active_at limit $2 for no key update of f skip locked)
update fanout f set state = 4 /* deleted */
from over o
where f.id = o.id`,
    values: [endedMs, limit],
  });
  return rowCount ?? 0;
};

/**
 * Deletes some segments of discarded fan-outs: a fan-out of a billion items takes many small
 * transactions.
 */
const deleteSegments = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-segments',
    text: `
delete from segment s using (
  select s.fanout_id, s.no
  from (select id from fanout where state = 4 /* deleted */ order by active_at limit 100) f
    cross join lateral (select fanout_id, no from segment where fanout_id = f.id limit $1) s limit $1) d
where s.fanout_id = d.fanout_id and s.no = d.no`,
    values: [limit],
  });
  return rowCount ?? 0;
};

/** Deletes some rows of adds of discarded fan-outs: one may have had millions of them. */
const deleteAdds = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-adds',
    text: `
delete from fanout_add a using (
  select a.fanout_id, a.key
  from (select id from fanout where state = 4 /* deleted */ order by active_at limit 100) f
    cross join lateral (select fanout_id, key from fanout_add where fanout_id = f.id limit $1) a limit $1) d
where a.fanout_id = d.fanout_id and a.key = d.key`,
    values: [limit],
  });
  return rowCount ?? 0;
};

/** Deletes discarded fan-outs without segments and adds, with their event. */
const deleteFanouts = async (db: Queryable, limit: number): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    name: 'delete-fanouts',
    text: `
with over as materialized (
  select f.id
  from fanout f
  where f.state = 4 /* deleted */ and not exists (select from segment s where s.fanout_id = f.id)
    and not exists (select from fanout_add a where a.fanout_id = f.id)
  order by f.id limit $1 for update of f skip locked),
told as (delete from notification n using over o where n.fanout_id = o.id),
gone as (delete from fanout f using over o where f.id = o.id returning 1)
select count(*)::int as n
from gone`,
    values: [limit],
  });
  return rows[0]!.n;
};

/** Intervals in ms; null: that step is switched off. */
export interface ReapIntervals {
  openIdleMs: number | null;
  sealedIdleMs: number | null;
  keepEndedMs: number | null;
}

/** Fan-outs per statement: its transaction takes milliseconds. */
const FANOUTS = 500;
const SEGMENTS = 2_000;
const ADDS = 2_000;
const NOTHING: ExpiredFanouts = { fanouts: 0, items: 0, told: 0 };

/**
 * Runs one bounded step of all that is to be reaped; `more`: another step would find something.
 * Each statement commits by itself.
 */
export const reapRound = async (pool: Pool, { openIdleMs, sealedIdleMs, keepEndedMs }: ReapIntervals) => {
  const open = openIdleMs === null ? NOTHING : await expireFanouts(pool, 0, openIdleMs, FANOUTS);
  const sealed = sealedIdleMs === null ? NOTHING : await expireFanouts(pool, 1, sealedIdleMs, FANOUTS);
  const discarded = keepEndedMs === null ? 0 : await discardFanouts(pool, keepEndedMs, FANOUTS);
  const deletedSegments = await deleteSegments(pool, SEGMENTS);
  const deletedAdds = await deleteAdds(pool, ADDS);
  const deletedFanouts = await deleteFanouts(pool, FANOUTS);
  return {
    expiredOpen: open.fanouts,
    expiredSealed: sealed.fanouts,
    items: open.items + sealed.items,
    told: open.told + sealed.told,
    deletedSegments,
    deletedFanouts,
    more:
      [open.fanouts, sealed.fanouts, discarded, deletedFanouts].includes(FANOUTS) || deletedSegments + deletedAdds > 0,
  };
};
