import type { Queryable } from '../pool';

/**
 * When ids of targets were looked up, in Unix ms of the server: the oldest of those that a
 * statement uses. An unused target is deleted long after its ids can be used no more
 * (`check_targets`, decision record 26). Statements take it as text: Prisma's engine sends a whole
 * number as an integer, whatever the statement says.
 */
export type LookedUpAtMs = number;

/** A target and the leader that forms its batches (stored at registration, and never changed). */
export interface TargetRow {
  id: number;
  key: string;
  leaderId: number;
  lookedUpAtMs: LookedUpAtMs;
}

/**
 * Registers the targets' leaders, then the targets; both `on conflict do nothing`. Runs in a
 * separate commit before the tasks are inserted: registering and inserting in one transaction loses
 * wakes. The caller caches the result.
 */
export const registerTargets = async (
  db: Queryable,
  handlerId: number,
  keys: readonly string[],
  leaderNames: readonly string[],
): Promise<TargetRow[]> => {
  const known = await findTargets(db, handlerId, keys);
  if (known.length === keys.length) return known;
  // A conflict draws a number, too, of which there are 2^31.
  const found = new Set(known.map(({ key }) => key));
  const missing = keys.map((key, i) => ({ key, leader: leaderNames[i]! })).filter(({ key }) => !found.has(key));
  await db.query({
    name: 'register-leaders',
    text: `insert into leader (handler_id, name) select $1, name from unnest($2::text[]) name group by name
      order by name on conflict do nothing`,
    values: [handlerId, missing.map(({ leader }) => leader)],
  });
  await db.query({
    name: 'register-targets',
    text: `
insert into target (handler_id, key, leader_id)
select $1, k.key, l.id
from unnest($2::text[], $3::text[]) k (key, leader_name) join leader l on l.handler_id = $1 and l.name = k.leader_name
order by k.key
on conflict do nothing`,
    values: [handlerId, missing.map(({ key }) => key), missing.map(({ leader }) => leader)],
  });
  return findTargets(db, handlerId, keys);
};

/**
 * Looks targets up by their keys, and takes the mark from those that are marked as unused. Leaves
 * out those that are being deleted. One that is marked meanwhile is found twice, and returned once
 * (`union`). The time is that of this statement's transaction, which began before it saw anything.
 */
const findTargets = async (db: Queryable, handlerId: number, keys: readonly string[]): Promise<TargetRow[]> => {
  const { rows } = await db.query<TargetRow>({
    name: 'find-targets',
    text: `
select f.id, f.key, f.leader_id as "leaderId",
  (extract(
    epoch from server_time() - (clock_timestamp() - transaction_timestamp())) * 1000)::float8 as "lookedUpAtMs"
from (
  select t.id, t.key, t.leader_id
  from target t
  where t.handler_id = $1 and t.key = any($2::text[]) and t.unused_at is null
  union select k.id, k.key, k.leader_id
  from unmark_targets($1, $2::text[]) k) f`,
    values: [handlerId, keys],
  });
  return rows;
};

/** Returns those of the ids that no target has. */
export const findGoneTargets = async (db: Queryable, ids: readonly number[]): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'find-gone-targets',
    text: `
select u.id
from unnest($1::int[]) u (id)
where not exists (select from target t where t.id = u.id)`,
    values: [ids],
  });
  return rows.map(({ id }) => id);
};

/** Returns the target ids of a handler, or of one key of it. */
export const targetIds = async (db: Queryable, handler: string, key?: string): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'target-ids',
    text: `select t.id from target t join handler h on h.id = t.handler_id where h.name = $1 and ($2::text is null
      or t.key = $2)`,
    values: [handler, key ?? null],
  });
  return rows.map((row) => row.id);
};

/** Pauses or resumes a target. False: there is no such target. The caller rings after a resume. */
export const setTargetPaused = async (
  db: Queryable,
  handler: string,
  key: string,
  /**
   * Reason of the pause; null: the target goes on. Pausing again keeps the first time and takes the
   * new reason.
   */
  reason: string | null,
): Promise<number | null> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'set-target-paused',
    text: `
update target t set paused = $3::text is not null,
  paused_at = case when $3 is not null then coalesce(t.paused_at, clock()) end, pause_reason = $3,
  hold_until = case when $3 is not null then t.hold_until end
from handler h
where h.id = t.handler_id and h.name = $1 and t.key = $2
returning t.id`,
    values: [handler, key, reason],
  });
  return rows[0]?.id ?? null;
};

/**
 * Sets one target's settings in place of the handler's; null removes them all. False: there is no
 * such target any more.
 */
export const setTargetOverrides = async (
  db: Queryable,
  targetId: number,
  overrides: Record<string, number> | null,
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'set-target-overrides',
    text: 'update target set overrides = $2 where id = $1',
    values: [targetId, overrides === null ? null : JSON.stringify(overrides)],
  });
  return rowCount === 1;
};

/**
 * Flushes what waits in lanes, as `flushTargets` does outside of them: it is put into a batch as
 * soon as its lane may send one, without waiting for more. Ring the lanes.
 */
export const flushLanes = async (
  db: Queryable,
  handler: string,
  key: string | null,
): Promise<{ id: number; laneId: number; tasks: number }[]> => {
  const { rows } = await db.query<{ id: number; laneId: number; tasks: number }>({
    name: 'flush-lanes',
    text: `
with w as materialized (
  select q.target_id, q.lane_id, max(q.seq) as last, count(*)::int as tasks
  from handler h join target g on g.handler_id = h.id join lane_queue q on q.lane_id = g.lane_id
      and q.target_id = g.id
  where h.name = $1 and ($2::text is null or g.key = $2)
  group by 1, 2),
locked as materialized (
  select t.id
  from target t
  where t.id in (select target_id from w)
  order by t.id for no key update)
update target t set flush_seq = greatest(coalesce(t.flush_seq, 0), w.last)
from locked l join w on w.target_id = l.id
where t.id = l.id
returning t.id, w.lane_id as "laneId", w.tasks`,
    values: [handler, key],
  });
  return rows;
};

/**
 * Makes everything that waits ready due at once; returns how many tasks of how many targets. The
 * caller rings, which then finds them due already (with `distinctBy` only the ring can tell whether
 * a task may go). Targets are locked in id order, as everywhere.
 */
export const flushTargets = async (
  db: Queryable,
  handler: string,
  key: string | null,
): Promise<{ id: number; tasks: number }[]> => {
  const { rows } = await db.query<{ id: number; tasks: number }>({
    name: 'flush-targets',
    text: `
with w as materialized (
  select q.target_id, max(q.seq) as last, count(*) as tasks, h.keyed
  from handler h join target g on g.handler_id = h.id join queue q on q.target_id = g.id
  where h.name = $1 and ($2::text is null or g.key = $2)
  group by 1, h.keyed),
locked as materialized (
  select t.id
  from target t
  where t.id in (select target_id from w)
  order by t.id for no key update)
update target t set flush_seq = greatest(coalesce(t.flush_seq, 0), w.last),
  due_at = case when w.keyed or t.busy then t.due_at else greatest(t.hold_until, least(t.due_at, clock())) end
from locked l join w on w.target_id = l.id
where t.id = l.id
returning t.id, w.tasks`,
    values: [handler, key],
  });
  return rows;
};
