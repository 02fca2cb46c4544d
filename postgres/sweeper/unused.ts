import type { Client, Queryable } from '../pool';

/**
 * Targets and lanes without use, a page at a time: marked, and deleted after they were marked
 * for long; and leaders without targets. Decision record 26 says why no task can be stored for a
 * target that is deleted.
 */

/** Transactions of one instant. */
export interface Horizon {
  /** Each transaction that had a number by `atMs`, Unix ms, has a lower one. */
  next: string;
  atMs: number;
  /** Each transaction with a lower number has ended. */
  oldest: string;
}

/**
 * Reads which transactions of this database are open, prepared ones too, of those that have a
 * number: who stores tasks draws one as it shows when it looked their targets up
 * (`check_targets`). A snapshot names those of the whole cluster to any role. Of the sessions of
 * other roles, `pg_stat_activity` hides when their transactions began, and shows their database.
 */
export const readHorizon = async (db: Queryable): Promise<Horizon> => {
  const { rows } = await db.query<Horizon>({
    name: 'read-horizon',
    text: `
with elsewhere as materialized (
  select a.backend_xid as xid
  from pg_stat_activity a
  where a.backend_xid is not null and a.datname <> current_database()
  union all select p.transaction
  from pg_prepared_xacts p
  where p.database <> current_database())
select pg_current_xact_id()::text as next, (extract(epoch from server_time()) * 1000)::float8 as "atMs", coalesce((
  select x.xid
  from pg_snapshot_xip(s.now) x (xid)
  where not exists (select from elsewhere e where e.xid = x.xid::xid)
  order by x.xid limit 1), pg_snapshot_xmax(s.now))::text as oldest
from (select pg_current_snapshot() as now) s`,
  });
  return rows[0]!;
};

/**
 * Holds for target `t` where a row refers to it, or an operator set something, or it waits. Each
 * table is asked for one row, and only if those before had none: of `exists` a plan could be made
 * that reads all of it.
 */
const IS_USED = `coalesce(
  nullif(t.paused or t.busy or t.due_at is not null or t.overrides is not null or t.limits is not null, false),
  (select true where t.hold_until > clock()),
  (select true from unnest(t.paces) p (at) where p.at > extract(epoch from clock()) * 1000 limit 1),
  (select true from queue q where q.target_id = t.id limit 1),
  (select true from delayed d where d.target_id = t.id limit 1),
  (select true from held x where x.target_id = t.id limit 1),
  (select true from batch b where b.target_id = t.id limit 1),
  (select true from outcome o where o.target_id = t.id limit 1),
  (select true from busy_key k where k.target_id = t.id limit 1),
  (select true from lane_queue w where w.lane_id = t.lane_id limit 1),
  (select true from lane_batch s where s.lane_id = t.lane_id limit 1), false)`;

/** The same for lane `l` and its state `s`. */
const IS_LANE_USED = `coalesce(
  nullif(s.ready or s.due_at is not null or s.pending > 0 or s.paused_at is not null or s.halted_by is not null
    or s.weight <> 1, false),
  (select true where s.hold_until > clock()),
  (select true from target t where t.lane_id = l.id limit 1),
  (select true from lane_queue w where w.lane_id = l.id limit 1),
  (select true from lane_batch b where b.lane_id = l.id limit 1), false)`;

export interface UnusedPage {
  /** Start of the next page; null: this was the last one. */
  next: number | null;
  read: number;
  /** Those that were marked before the given time. */
  ids: number[];
}
interface PageRow {
  last: number | null;
  read: number;
  ids: number[];
}
const pageOf = ({ last, read, ids }: PageRow, limit: number): UnusedPage => ({
  next: read < limit ? null : last,
  read,
  ids,
});

/**
 * Looks at the next `limit` targets: marks those that are unused, and takes the mark from those
 * that are used again. Returns those unused since before `beforeMs`.
 */
export const markUnusedTargets = async (
  db: Queryable,
  after: number,
  limit: number,
  beforeMs: number,
): Promise<UnusedPage> => {
  const { rows } = await db.query<PageRow>({
    name: 'mark-unused-targets',
    text: `
with page as materialized (
  select t.id, t.unused_at, ${IS_USED} as used
  from target t
  where t.id > $1
  order by t.id limit $2),
locked as materialized (
  select t.id, p.used
  from page p join target t using (id)
  where p.used = (p.unused_at is not null)
  order by t.id for no key update of t skip locked),
marked as (
  update target t set unused_at = case when l.used then null else server_time() end
  from locked l
  where t.id = l.id)
select max(id) as last, count(*)::int as read, coalesce(
  array_agg(id order by id) filter (where not used and unused_at < to_timestamp($3::float8 / 1000)), '{}') as ids
from page`,
    values: [after, limit, beforeMs],
  });
  return pageOf(rows[0]!, limit);
};

/** The same for lanes. */
export const markUnusedLanes = async (
  db: Queryable,
  after: number,
  limit: number,
  beforeMs: number,
): Promise<UnusedPage> => {
  const { rows } = await db.query<PageRow>({
    name: 'mark-unused-lanes',
    text: `
with page as materialized (
  select l.id, l.unused_at, ${IS_LANE_USED} as used
  from lane l join lane_state s on s.lane_id = l.id
  where l.id > $1
  order by l.id limit $2),
locked as materialized (
  select l.id, p.used
  from page p join lane l using (id)
  where p.used = (p.unused_at is not null)
  order by l.id for no key update of l skip locked),
marked as (
  update lane l set unused_at = case when k.used then null else server_time() end
  from locked k
  where l.id = k.id)
select max(id) as last, count(*)::int as read, coalesce(
  array_agg(id order by id) filter (where not used and unused_at < to_timestamp($3::float8 / 1000)), '{}') as ids
from page`,
    values: [after, limit, beforeMs],
  });
  return pageOf(rows[0]!, limit);
};

/**
 * Locks those of the targets that were marked before then and have no lock: it waits for none. They
 * may have been looked up and marked anew since they were read.
 */
export const lockUnusedTargets = async (
  client: Client,
  ids: readonly number[],
  beforeMs: number,
): Promise<number[]> => {
  const { rows } = await client.query<{ id: number }>({
    name: 'lock-unused-targets',
    text: `
select id
from target
where id = any($1::int[]) and unused_at < to_timestamp($2::float8 / 1000)
order by id for update skip locked`,
    values: [ids, beforeMs],
  });
  return rows.map(({ id }) => id);
};

/** Deletes those of the locked targets that are unused; returns how many. */
export const deleteLockedTargets = async (client: Client, ids: readonly number[]): Promise<number> => {
  const { rowCount } = await client.query({
    name: 'delete-locked-targets',
    text: `delete from target t where t.id = any($1::int[]) and not ${IS_USED}`,
    values: [ids],
  });
  return rowCount ?? 0;
};

/**
 * Holds for leader `l` where a target or dispatch refers to it, or it is at work, or it is one of
 * the handler's few, whose names are numbers. Each other one is named by the key of its target.
 */
const LEADS = `(l.state <> 0 /* idle */ or l.name ~ '^\\d{1,4}$'
  or exists (select from target t where (t.handler_id, t.key, t.leader_id) = (l.handler_id, l.name, l.id))
  or exists (select from dispatch d where d.leader_id = l.id))`;

/** Looks at the next `limit` leaders, and returns those that lead nothing. */
export const findIdleLeaders = async (db: Queryable, after: number, limit: number): Promise<UnusedPage> => {
  const { rows } = await db.query<PageRow>({
    name: 'find-idle-leaders',
    text: `
select max(p.id) as last, count(*)::int as read,
  coalesce(array_agg(p.id order by p.id) filter (where not p.leads), '{}') as ids
from (
  select l.id, ${LEADS} as leads
  from leader l
  where l.id > $1
  order by l.id limit $2) p`,
    values: [after, limit],
  });
  return pageOf(rows[0]!, limit);
};

/** Locks those of the leaders that are free: one is locked while it has a turn or gets a target. */
export const lockIdleLeaders = async (client: Client, ids: readonly number[]): Promise<number[]> => {
  const { rows } = await client.query<{ id: number }>({
    name: 'lock-idle-leaders',
    text: 'select id from leader where id = any($1::int[]) order by id for update skip locked',
    values: [ids],
  });
  return rows.map(({ id }) => id);
};

/** Deletes those of the locked leaders that lead nothing; returns how many. */
export const deleteLockedLeaders = async (client: Client, ids: readonly number[]): Promise<number> => {
  const { rowCount } = await client.query({
    name: 'delete-locked-leaders',
    text: `delete from leader l where l.id = any($1::int[]) and not ${LEADS}`,
    values: [ids],
  });
  return rowCount ?? 0;
};

/** Locks those of the lanes that were marked before then and have no lock, with their states. */
export const lockUnusedLanes = async (client: Client, ids: readonly number[], beforeMs: number): Promise<number[]> => {
  const { rows } = await client.query<{ id: number }>({
    name: 'lock-unused-lanes',
    text: `
select l.id
from lane l join lane_state s on s.lane_id = l.id
where l.id = any($1::int[]) and l.unused_at < to_timestamp($2::float8 / 1000)
order by l.id for update of l, s skip locked`,
    values: [ids, beforeMs],
  });
  return rows.map(({ id }) => id);
};

/** Deletes those of the locked lanes that are unused; returns how many. */
export const deleteLockedLanes = async (client: Client, ids: readonly number[]): Promise<number> => {
  const { rows } = await client.query<{ n: number }>({
    name: 'delete-locked-lanes',
    text: `
with gone as materialized (
  select l.id
  from lane l join lane_state s on s.lane_id = l.id
  where l.id = any($1::int[]) and not ${IS_LANE_USED}),
states as (delete from lane_state s using gone g where s.lane_id = g.id),
lanes as (delete from lane l using gone g where l.id = g.id returning l.id)
select count(*)::int as n
from lanes`,
    values: [ids],
  });
  return rows[0]!.n;
};
