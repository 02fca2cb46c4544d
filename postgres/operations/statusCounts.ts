import type { Queryable } from '../pool';
import { countUpTo, estimateRows } from './sample';

/**
 * Tasks by handler and state, and batches by flush reason: counted where that is cheap, otherwise
 * projected from a sample of the pages.
 */
export interface Counts {
  states: { handlerId: number; state: number; n: number }[];
  /** Those of the created tasks that wait for others. */
  held: { handlerId: number; n: number }[];
  reasons: { handlerId: number; reason: number; n: number }[];
  /** Null: no queued task was found among those read. */
  oldest: { handlerId: number; ageMs: number }[];
  /** Some of it was projected. */
  estimated: boolean;
}

/**
 * Most rows of a table that are counted one by one; above that, about `SAMPLED` rows are read and
 * projected.
 */
export const COUNTED = 50_000;
const SAMPLED = 20_000;

/** How a table is read: all of it, or this share of its pages. */
interface Reading {
  percent: number;
}
const ALL: Reading = { percent: 100 };

/** Counts tasks. `most`: rows of a table that are counted one by one; `Infinity`: all. */
export const countTasks = async (db: Queryable, handlerId: number | null, most: number): Promise<Counts> => {
  const counts: Counts = { states: [], held: [], reasons: [], oldest: [], estimated: false };
  const add = (list: { n: number }[], rows: { n: number }[], { percent }: Reading): void => {
    if (percent < 100) counts.estimated = true;
    list.push(...rows.map((row) => ({ ...row, n: Math.round((row.n * 100) / percent) })));
  };
  for (const table of ['queue', 'delayed', 'lane_queue', 'held', 'outcome'] as const) {
    const reading = await readingOf(db, table, most);
    const places = await countPlaces(db, table, handlerId, reading);
    add(counts.states, places, reading);
    if (table === 'held') add(counts.held, places, reading);
    if (table === 'queue') counts.oldest = await readOldest(db, handlerId, reading);
  }
  const reading = await readingOf(db, 'batch', most);
  add(counts.reasons, await countReasons(db, handlerId, reading), reading);
  // Unfinished and failed batches each have an index.
  for (const [of, text] of [
    ['open', OPEN],
    ['bad', BAD],
    ['rest', REST],
  ] as const) {
    const own = of === 'rest' || reading === ALL || (await countUpTo(db, PART[of], most)) > most ? reading : ALL;
    add(counts.states, await countBatches(db, text, handlerId, own), own);
  }
  return counts;
};

const readingOf = async (db: Queryable, table: string, most: number): Promise<Reading> => {
  if (most === Infinity || (await countUpTo(db, table, most)) <= most) return ALL;
  return { percent: Math.min(100, Math.max(0.001, (100 * SAMPLED) / Math.max(1, await estimateRows(db, table)))) };
};

/** SQL of a table and its alias, or of the sampled share of its pages. */
const pagesOf = (table: string, { percent }: Reading): string =>
  percent < 100 ? `${table} tablesample system (${percent})` : table;

const countPlaces = async (
  db: Queryable,
  table: 'queue' | 'delayed' | 'lane_queue' | 'held' | 'outcome',
  handlerId: number | null,
  reading: Reading,
): Promise<{ handlerId: number; state: number; n: number }[]> => {
  const state = table === 'outcome' ? 'state' : '0';
  const { rows } = await db.query<{ handlerId: number; state: number; n: number }>({
    text: `
select t.handler_id as "handlerId", p.state, sum(p.n)::float8 as n
from (select p.target_id, ${state} as state, count(*) as n from ${pagesOf(`${table} p`, reading)} group by 1, 2) p
  join target t on t.id = p.target_id
where $1::int is null or t.handler_id = $1
group by 1, 2`,
    values: [handlerId],
  });
  return rows;
};

/**
 * Returns the oldest queued task. From a sample it is a lower bound of the age: the oldest that was
 * read, and the heads of the targets that are due first.
 */
const readOldest = async (
  db: Queryable,
  handlerId: number | null,
  reading: Reading,
): Promise<{ handlerId: number; ageMs: number }[]> => {
  const first = `
  union all select q.target_id, q.ready_at
  from leader l cross join lateral (
    select t.id
    from target t
    where t.leader_id = l.id and t.due_at is not null and not t.paused and not t.busy
    order by t.due_at limit 10) t
    cross join lateral (
      select q.target_id, q.ready_at
      from queue q
      where q.target_id = t.id
      order by q.priority, q.seq limit 1) q
  where $1::int is null or l.handler_id = $1`;
  const { rows } = await db.query<{ handlerId: number; ageMs: number }>({
    text: `
select t.handler_id as "handlerId", greatest(0, extract(epoch from clock() - min(q.oldest)) * 1000)::float8 as "ageMs"
from (
  select target_id, min(ready_at) as oldest
  from (select target_id, ready_at from ${pagesOf('queue q', reading)}${reading === ALL ? '' : first}) q
  group by 1) q join target t on t.id = q.target_id
where $1::int is null or t.handler_id = $1
group by 1`,
    values: [handlerId],
  });
  return rows;
};

const countReasons = async (
  db: Queryable,
  handlerId: number | null,
  reading: Reading,
): Promise<{ handlerId: number; reason: number; n: number }[]> => {
  const { rows } = await db.query<{ handlerId: number; reason: number; n: number }>({
    text: `
select t.handler_id as "handlerId", b.reason, sum(b.n)::float8 as n
from (select b.target_id, b.reason, count(*) as n from ${pagesOf('batch b', reading)} group by 1, 2) b
  join target t on t.id = b.target_id
where $1::int is null or t.handler_id = $1
group by 1, 2
order by 1, 2`,
    values: [handlerId],
  });
  return rows;
};

/**
 * The parts of the batches that the view `state_count` counts; each but the last has its own index.
 */
const OPEN = 'b.state = 1';
const BAD = 'b.state in (3 /* unknown */, 5 /* failed */, 6 /* dead */)';
const REST = 'b.state = 4';
const PART = { open: `batch b where ${OPEN}`, bad: `batch b where ${BAD}` } as const;

const countBatches = async (
  db: Queryable,
  part: string,
  handlerId: number | null,
  reading: Reading,
): Promise<{ handlerId: number; state: number; n: number }[]> => {
  const { rows } = await db.query<{ handlerId: number; state: number; n: number }>({
    text: `
select t.handler_id as "handlerId", b.state, sum(b.n)::float8 as n
from (
  select b.target_id,
    case when b.state = 1 /* open */
      and b.leader_id = 0 then lane_task_state((select s.status from lane_batch s where s.batch_id = b.id))
      when b.state = 1 /* open */ and b.attempt > 0 then 2::smallint /* in-progress */ else b.state end as state,
    sum(b.n - b.n_left) as n
  from ${pagesOf('batch b', reading)}
  where ${part}
  group by 1, 2) b join target t on t.id = b.target_id
where $1::int is null or t.handler_id = $1
group by 1, 2`,
    values: [handlerId],
  });
  return rows;
};
