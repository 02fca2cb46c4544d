import type { Queryable } from '../pool';

/**
 * The deletions of `retention.ts`, each statement a transaction; for one handler, from the time up
 * to which it has been scanned.
 */

export interface HandlerRetention {
  id: number;
  retentionMs: number;
}

export const readRetentions = async (db: Queryable): Promise<HandlerRetention[]> => {
  const { rows } = await db.query<HandlerRetention>({
    name: 'read-retentions',
    text: 'select id, retention_ms as "retentionMs" from handler order by id',
  });
  return rows;
};

/** Which part of what ended is looked at. */
export interface Look {
  /** From which end on; null: from the first. */
  from: Date | null;
  limit: number;
  /** Objects to which what is deleted refers are noted, to be deleted: the store can. */
  notesObjects: boolean;
}

export interface Deleted {
  tasks: number;
  batches: number;
  /** Everything that ended before this was scanned. */
  seenTo: Date;
}

/** SQL of the keys of objects to which JSON values refer: only short values are read. */
const KEYS = `select v.value->'$codec'->'object'->>'key' as key
  from referring v
  where case when pg_column_size(v.value) <= 1000 then starts_with(v.value::text, '{"$codec":{"object":') end`;

/**
 * SQL: the callbacks of a batch are delivered or given up. Looked up per batch, with nothing in the
 * condition that lets a plan go through all that are not delivered for each batch instead.
 */
const areTold = (batch: string): string => `coalesce((
      select bool_and(n.done_at is not null)
      from notification n
      where n.batch_id = ${batch}), true)`;

/** Parts of a statement that delete the labels of the tasks that an earlier part has deleted. */
const labelsOf = (deleted: 'ended' | 'shared' | 'lost'): string => `labels as (
  delete from task_label l using ${deleted} d
  where l.seq = d.seq
  returning l.seq, l.handler_id, l.tags),
tags as (
  delete from task_tag g using (
    select l.seq, l.handler_id, u.tag
    from labels l cross join lateral unnest(l.tags) u (tag)) u
  where g.tag = u.tag and g.handler_id = u.handler_id and g.seq = u.seq)`;

/**
 * Deletes tasks whose end differs from their batch's: failed, dead, cancelled, or resolved by hand.
 * Skips what a redrive holds.
 */
export const deleteExpiredOutcomes = async (
  db: Queryable,
  handler: HandlerRetention,
  { from, limit, notesObjects }: Look,
): Promise<Deleted> => {
  const { rows } = await db.query<Deleted>({
    name: 'delete-expired-outcomes',
    text: `
with old as materialized (
  select o.seq, o.at
  from outcome o join target t on t.id = o.target_id and t.handler_id = $1
  where o.at < clock() - $2 * interval '1 ms' and o.at >= coalesce($3::timestamptz, '-infinity')
    and ${areTold('o.batch_id')}
  order by o.at limit $4 for update of o skip locked),
ended as (delete from outcome o using old where o.seq = old.seq returning o.seq, o.result),
gone as (delete from task k using ended e where k.seq = e.seq returning k.seq, k.payload),
unneeded as (delete from task_dependency d using ended e where d.seq = e.seq),
${labelsOf('ended')},
referring as materialized (
  select g.payload as value
  from gone g
  where $5
  union all select e.result
  from ended e
  where $5),
noted as (
  insert into unneeded_object (key, due_at)
  select k.key, clock()
  from (${KEYS}) k
  on conflict (key) do update set due_at = excluded.due_at)
select (select count(*) from gone) as tasks, 0 as batches,
  case when (select count(*) from old) < $4 then clock() - $2 * interval '1 ms'
    else (select max(at) from old) end as "seenTo"`,
    values: [handler.id, handler.retentionMs, from, limit, notesObjects],
  });
  return rows[0]!;
};

/** Most batches per statement. */
const MOST_BATCHES = 1_000;

/**
 * Deletes whole batches, oldest first, with the members that share their end: at most `limit`
 * members, but at least one batch. A batch that members have left goes only when none of those is
 * left; so a part goes before the whole it was split from.
 */
export const deleteExpiredBatches = async (
  db: Queryable,
  handler: HandlerRetention,
  { from, limit, notesObjects }: Look,
): Promise<Deleted> => {
  const { rows } = await db.query<Deleted>({
    name: 'delete-expired-batches',
    text: `
with found as materialized (
  select b.id, b.members, b.finished_at, b.n - b.n_left as n
  from batch b join target t on t.id = b.target_id and t.handler_id = $1
  where b.finished_at < clock() - $2 * interval '1 ms' and b.finished_at >= coalesce($3::timestamptz, '-infinity')
    and (b.n_left = 0 or not exists (
      select from unnest(b.members) u (seq) join task k on k.seq = u.seq
        left join member m on m.seq = u.seq and m.batch_id = b.id
      where m.seq is null))
    and not exists (select from batch c where c.parent_id = b.id)
    -- batches that depend on it must still find its outcome; an operator must still decide on what halts a lane
    and (b.leader_id <> 0 or not exists (
      select from dependency d join lane_batch s on s.batch_id = d.batch_id and s.status < 10 /* open */
      where d.needs = b.id)
      and not exists (select from lane_state l where l.halted_by = b.id))
    and ${areTold('b.id')}
  order by b.finished_at limit $5 for update of b skip locked),
old as materialized (
  select id, members, finished_at
  from (select f.*, sum(f.n) over (order by f.finished_at, f.id) - f.n as before from found f) f
  where f.before = 0 or f.before + f.n <= $4),
shared as (
  delete from member m using (select o.id, u.seq from old o cross join lateral unnest(o.members) u (seq)) x
  where m.seq = x.seq and m.batch_id = x.id
  returning m.seq),
gone as (delete from task k using shared m where k.seq = m.seq returning k.seq, k.payload),
unneeded as (delete from task_dependency d using shared m where d.seq = m.seq),
${labelsOf('shared')},
pages as (delete from result_page p using old o where p.batch_id = o.id returning p.results),
told as (delete from notification n using old o where n.batch_id = o.id),
stopped as (delete from cancellation c using old o where c.batch_id = o.id),
over as (delete from batch b using old o where b.id = o.id returning b.id),
referring as materialized (
  select g.payload as value
  from gone g
  where $6
  union all select e.value->1
  from pages p cross join lateral json_array_elements(p.results) e
  where $6 and position('{"$codec":{"object":' in p.results::text) > 0),
noted as (
  insert into unneeded_object (key, due_at)
  select k.key, clock()
  from (${KEYS}) k
  on conflict (key) do update set due_at = excluded.due_at)
select (select count(*) from gone) as tasks, (select count(*) from over) as batches,
  case when (select count(*) from old) < $5 and (select count(*) from old) = (select count(*) from found)
    then clock() - $2 * interval '1 ms' else (select max(finished_at) from old) end as "seenTo"`,
    values: [handler.id, handler.retentionMs, from, limit, MOST_BATCHES, notesObjects],
  });
  return rows[0]!;
};

/** Deletes delivered messages without a batch: those of tasks that were cancelled. */
export const deleteExpiredNotifications = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-expired-notifications',
    text: `
delete from notification
where id in (
  select n.id
  from notification n join handler h on h.name = n.body->>'handler'
  where n.batch_id is null
    and n.done_at < clock() - h.retention_ms * interval '1 ms' limit $1 for update of n skip locked)`,
    values: [limit],
  });
  return rowCount ?? 0;
};

/**
 * Deletes recipients that no task, no fan-out and no message refers to any more. An hour is far
 * longer than any client uses an id without registering it again (`RECIPIENT_MS`). Asked again once
 * the row is locked: `submit` of the database keeps it by a lock, until its caller commits.
 */
export const deleteUnusedRecipients = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-unused-recipients',
    text: `
with locked as materialized (
  select r.id
  from recipient r
  where r.used_at < clock() - interval '1 hour' and not exists (select from task k where k.recipient_id = r.id)
    and not exists (select from notification n where n.recipient_id = r.id)
    and not exists (select from fanout f where f.recipient_id = r.id)
  order by r.used_at limit $1 for update of r skip locked)
delete from recipient r using locked l
where r.id = l.id and is_unused_recipient(l.id)`,
    values: [limit],
  });
  return rowCount ?? 0;
};

/**
 * Looks at the labels of so many tasks after a seq, and deletes those of tasks that are gone: a
 * worker of a version without labels deletes tasks alone. Returns the last seq; null: no more.
 */
export const deleteLostLabels = async (db: Queryable, after: number, limit: number): Promise<number | null> => {
  const { rows } = await db.query<{ next: number | null }>({
    name: 'delete-lost-labels',
    text: `
with looked as materialized (
  select l.seq
  from task_label l
  where l.seq > $1
  order by l.seq limit $2),
lost as materialized (
  select k.seq
  from looked k
  where (
    select t.seq
    from task t
    where t.seq = k.seq) is null),
${labelsOf('lost')}
select case when count(*) = $2 then max(seq) end as next
from looked`,
    values: [after, limit],
  });
  return rows[0]!.next;
};
