import type { Queryable } from './pool';

/**
 * Objects of the object store to which nothing here refers, not yet or no more: they are to be
 * deleted once they are due.
 */

/** Writes objects down before they are stored; due in `ms`, unless they are struck off. */
export const noteObjects = async (db: Queryable, keys: readonly string[], ms: number): Promise<void> => {
  await db.query({
    name: 'note-objects',
    text: `
insert into unneeded_object (key, due_at)
select key, clock() + $2 * interval '1 ms'
from unnest($1::text[]) o (key)
on conflict (key) do nothing`,
    values: [keys, ms],
  });
};

/**
 * Strikes objects off, in the transaction that stores references to them. Returns how many: those
 * whose deletion has begun stay, and must not be referred to. Their rows go by
 * `deleteStruckOffObjects`, since a submitter's role may delete none.
 */
export const strikeOffObjects = async (db: Queryable, keys: readonly string[]): Promise<number> => {
  const { rows } = await db.query<{ key: string }>({
    name: 'strike-off-objects',
    text: 'update unneeded_object set due_at = null where key = any($1::text[]) and not taken returning key',
    values: [keys],
  });
  return rows.length;
};

/** Deletes the rows of objects that were struck off. Returns how many. */
export const deleteStruckOffObjects = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-struck-off-objects',
    text: `
delete from unneeded_object
where key in (select key from unneeded_object where due_at is null limit $1 for update skip locked)`,
    values: [limit],
  });
  return rowCount ?? 0;
};

/**
 * Writes down objects to which no value refers any more, in the transaction that took it away. They
 * are kept for the retention of the handler, as those of tasks that ended are, and at least for
 * `ms`: a backup that is restored has the tasks that refer to them.
 */
export const abandonObjects = async (
  db: Queryable,
  keys: readonly string[],
  { handlerId, ms }: { handlerId: number; ms: number },
): Promise<void> => {
  await db.query({
    name: 'abandon-objects',
    text: `
insert into unneeded_object (key, due_at)
select o.key, clock() + greatest(h.retention_ms, $3::bigint) * interval '1 ms'
from unnest($1::text[]) o (key) join handler h on h.id = $2
on conflict (key) do update set due_at = excluded.due_at`,
    values: [keys, handlerId, ms],
  });
};

/**
 * Takes objects that are due, to delete them. If that does not end they are due again, later each
 * time: after 4 s, doubled up to 10 minutes.
 */
export const takeDueObjects = async (db: Queryable, limit: number): Promise<string[]> => {
  const { rows } = await db.query<{ key: string }>({
    name: 'take-due-objects',
    text: `
update unneeded_object o set taken = true, tries = o.tries + 1,
  due_at = clock() + least(600, 4 * 2 ^ least(o.tries, 10)) * interval '1 s'
from (
  select key
  from unneeded_object
  where due_at <= clock()
  order by due_at limit $1 for update skip locked) d
where o.key = d.key
returning o.key`,
    values: [limit],
  });
  return rows.map(({ key }) => key);
};

/** Strikes off objects that are deleted. */
export const forgetObjects = async (db: Queryable, keys: readonly string[]): Promise<void> => {
  await db.query({
    name: 'forget-objects',
    text: 'delete from unneeded_object where key = any($1::text[]) and taken',
    values: [keys],
  });
};

/** Writes down why objects could not be deleted. */
export const noteObjectFailure = async (db: Queryable, keys: readonly string[], error: string): Promise<void> => {
  await db.query({
    name: 'note-object-failure',
    text: 'update unneeded_object set error = $2 where key = any($1::text[]) and taken',
    values: [keys, error],
  });
};

/** Most objects that are counted. */
const COUNTED_MAX = 100_000;

/** Returns how many objects are due, or could not be deleted yet: at most 100,000. */
export const countDueObjects = async (db: Queryable): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    name: 'count-due-objects',
    text: `
select count(*)::float8 as n
from (select from unneeded_object where due_at <= clock() or taken and due_at is not null limit ${COUNTED_MAX}) o`,
  });
  return rows[0]!.n;
};
