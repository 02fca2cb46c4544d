import type { Client } from '../pool';

/**
 * Statements that change waiting tasks, in the transaction that has locked their targets
 * (`lockTargets`): nothing takes them out of the queue meanwhile.
 */

export interface WaitingRow {
  seq: number;
  targetId: number;
  place: 'queue' | 'delayed' | 'held';
  priority: number;
  weight: number | null;
  notBefore: Date | null;
}

/** Locks those of the tasks that wait outside of lanes, and returns where. */
export const lockWaiting = async (client: Client, seqs: readonly number[]): Promise<WaitingRow[]> => {
  const { rows } = await client.query<WaitingRow>({
    name: 'lock-waiting',
    text: `
with named as materialized (
  select k.seq, k.target_id, k.priority, k.weight
  from task k
  where k.seq = any($1::bigint[])
  order by k.seq for no key update),
queued as (
  select q.seq
  from named n join queue q on q.target_id = n.target_id and q.priority = n.priority and q.seq = n.seq
  for update of q),
later as (select d.seq, d.not_before from delayed d where d.seq = any($1::bigint[]) for update),
kept as (select x.seq, x.not_before from held x where x.seq = any($1::bigint[]) for update)
select n.seq, n.target_id as "targetId", n.priority, n.weight, coalesce(l.not_before, x.not_before) as "notBefore",
  case when q.seq is not null then 'queue' when l.seq is not null then 'delayed' else 'held' end as place
from named n left join queued q on q.seq = n.seq left join later l on l.seq = n.seq left join kept x on x.seq = n.seq
where coalesce(q.seq, l.seq, x.seq) is not null`,
    values: [seqs],
  });
  return rows;
};

/** Moves queued tasks to where they wait for a time (Unix milliseconds). */
export const delayQueued = async (client: Client, seqs: readonly number[], notBeforeMs: number): Promise<void> => {
  await client.query({
    name: 'delay-queued',
    text: `
with gone as (
  delete from queue q using task k
  where k.seq = any($1::bigint[]) and q.target_id = k.target_id and q.priority = k.priority and q.seq = k.seq
  returning q.target_id, q.priority, q.seq, q.bytes, q.attempts, q.weight, q.key)
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
with named as materialized (select seq, target_id, priority from task where seq = any($1::bigint[])),
queued as (
  update queue q set priority = coalesce($2::smallint, q.priority), weight = coalesce($3::float8, q.weight)
  from named n
  where q.target_id = n.target_id and q.priority = n.priority and q.seq = n.seq),
later as (
  update delayed set priority = coalesce($2::smallint, priority), weight = coalesce($3::float8, weight)
  where seq = any($1::bigint[]))
update task set priority = coalesce($2::smallint, priority), weight = coalesce($3::float8, weight)
where seq = any($1::bigint[])`,
    values: [seqs, priority, weight],
  });
};
