import type { Client } from '../pool';

/**
 * Statements that change waiting tasks, in the transaction that has locked their targets
 * (`lockTargets`): nothing takes them out of the queue meanwhile.
 */

export interface WaitingRow {
  seq: number;
  targetId: number;
  place: 'queue' | 'delayed' | 'held';
  /** Another one once its payload, version, weight or priority was written anew. */
  rowVersion: string;
  priority: number;
  weight: number | null;
  notBefore: Date | null;
  /** Null: never. */
  expiresAt: Date | null;
}

/**
 * Part of statements: tasks with the place on disk of their row in the queue, null if they are not
 * there. Looked up one by one: the table grows and empties faster than its statistics, and a plan
 * for an empty one reads all of it for each task. Only their target's lock keeps the places valid.
 */
export const NAMED = `named as materialized (
  select k.seq, k.target_id, k.priority, k.weight, k.xmin::text as row_version, (
      select q.ctid
      from queue q
      where q.target_id = k.target_id and q.priority = k.priority and q.seq = k.seq) as at
  from task k
  where k.seq = any($1::bigint[]))`;

/** Returns where those of the tasks wait that do, and locks the rows of those that are held. */
export const lockWaiting = async (client: Client, seqs: readonly number[]): Promise<WaitingRow[]> => {
  const { rows } = await client.query<WaitingRow>({
    name: 'lock-waiting',
    text: `
with ${NAMED},
kept as (select x.seq, x.not_before from held x where x.seq = any($1::bigint[]) for update)
select n.seq, n.target_id as "targetId", n.priority, n.weight, n.row_version as "rowVersion",
  coalesce(d.not_before, x.not_before) as "notBefore",
  coalesce(y.expires_at, y.at) as "expiresAt",
  case when n.at is not null then 'queue' when d.seq is not null then 'delayed' else 'held' end as place
from named n left join delayed d on d.seq = n.seq left join kept x on x.seq = n.seq
  left join expiry y on y.seq = n.seq
where n.at is not null or d.seq is not null or x.seq is not null`,
    values: [seqs],
  });
  return rows;
};

/** Moves queued tasks to where they wait for a time (Unix milliseconds). */
export const delayQueued = async (client: Client, seqs: readonly number[], notBeforeMs: number): Promise<void> => {
  await client.query({
    name: 'delay-queued',
    text: `
with ${NAMED},
gone as (
  delete from queue q
  where q.ctid = any(array(select n.at from named n where n.at is not null))
  returning q.*)
insert into delayed (target_id, priority, seq, not_before, bytes, attempts, weight, key)
select target_id, priority, seq, to_timestamp($2::float8 / 1000), bytes, attempts, weight, key
from gone`,
    values: [seqs, notBeforeMs],
  });
};

/** Moves delayed tasks into the queue, as if their time had come. */
export const queueDelayed = async (client: Client, seqs: readonly number[]): Promise<void> => {
  await client.query({
    name: 'queue-delayed',
    text: `
with gone as (delete from delayed where seq = any($1::bigint[]) returning *)
insert into queue (target_id, priority, seq, ready_at, bytes, attempts, weight, key)
select target_id, priority, seq, clock(), bytes, attempts, weight, key
from gone`,
    values: [seqs],
  });
};

/** Sets the time of tasks that are delayed or held; null: at once, which only held tasks have. */
export const setNotBefore = async (
  client: Client,
  seqs: readonly number[],
  notBeforeMs: number | null,
): Promise<void> => {
  await client.query({
    name: 'set-not-before',
    text: `
with moved as (
  update delayed set not_before = to_timestamp($2::float8 / 1000)
  where seq = any($1::bigint[]) and $2::float8 is not null)
update held set not_before = to_timestamp($2::float8 / 1000)
where seq = any($1::bigint[])`,
    values: [seqs, notBeforeMs],
  });
};

/** Sets the priority and the weight of waiting tasks, wherever they wait; null: as it is. */
export const setOrder = async (
  client: Client,
  seqs: readonly number[],
  { priority, weight }: { priority: number | null; weight: number | null },
): Promise<void> => {
  await client.query({
    name: 'set-order',
    text: `
with ${NAMED},
queued as (
  update queue q set priority = coalesce($2::smallint, q.priority), weight = coalesce($3::float8, q.weight)
  where q.ctid = any(array(select n.at from named n where n.at is not null))),
later as (
  update delayed set priority = coalesce($2::smallint, priority), weight = coalesce($3::float8, weight)
  where seq = any($1::bigint[]))
update task set priority = coalesce($2::smallint, priority), weight = coalesce($3::float8, weight)
where seq = any($1::bigint[])`,
    values: [seqs, priority, weight],
  });
};
