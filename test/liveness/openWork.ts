import type pg from 'pg';

/**
 * What is open in the store, by plain SQL: knows the names of the tables, and imports nothing of
 * Muster.
 */

export interface OpenWork {
  handler: string;
  kind: 'call' | 'ask' | 'callback';
  /** For how long the oldest of it has been open. */
  ms: number;
  /** The oldest task; null: it was deleted meanwhile. */
  task: string | null;
}

/**
 * The oldest of each handler and kind. Nothing here waits by intention for longer than a moment.
 */
export const readOpenWork = async (db: pg.Pool): Promise<OpenWork[]> => {
  const { rows } = await db.query<OpenWork>(`
select distinct on (h.name, x.kind) h.name as handler, x.kind, t.id as task, (extract(epoch from clock() - x.since) * 1000)::float8 as ms
from (
  select q.target_id, q.seq, 'call' as kind, q.ready_at as since from queue q
  union all select q.target_id, q.seq, 'call', q.ready_at from lane_queue q
  union all select d.target_id, d.seq, 'call', d.not_before from delayed d where d.not_before <= clock()
  union all select b.target_id, b.members[1], case when b.reference is null then 'call' else 'ask' end,
    case when b.reference is null then b.created_at else coalesce(b.started_at, b.created_at) end from batch b where b.state in (1, 3)
  union all select b.target_id, (select min(t.seq) from task t where t.seq = any(b.members)
    and t.recipient_id = n.recipient_id), 'callback', b.finished_at from notification n join batch b on b.id = n.batch_id where n.done_at is null
) x join target g on g.id = x.target_id join handler h on h.id = g.handler_id left join task t on t.seq = x.seq
order by h.name, x.kind, x.since`);
  return rows;
};

/** A target with something to do, and who leads it. */
export interface Owing {
  handler: string;
  kind: 'call' | 'ask';
  target: string;
  leader: string;
  leaderId: number;
}

/** Of tasks up to this one. A batch of unknown outcome counts: nothing here parks one. */
export const readOwing = async (db: pg.Pool, upTo: number): Promise<Owing[]> => {
  const { rows } = await db.query<Owing>(
    `
select distinct h.name as handler, x.kind, g.key as target, l.name as leader, l.id as "leaderId"
from (
  select q.target_id, 'call' as kind from queue q where q.seq <= $1
  union all select q.target_id, 'call' from lane_queue q where q.seq <= $1
  union all select d.target_id, 'call' from delayed d where d.seq <= $1
  union all select b.target_id, case when b.reference is null then 'call' else 'ask' end from batch b where b.state in (1, 3) and b.members[1] <= $1
) x join target g on g.id = x.target_id join handler h on h.id = g.handler_id join leader l on l.id = g.leader_id`,
    [upTo],
  );
  return rows;
};

/** The newest task so far. */
export const readNewest = async (db: pg.Pool): Promise<number> =>
  Number((await db.query<{ seq: string | null }>('select max(seq) as seq from task')).rows[0]!.seq ?? 0);

/** How many tasks up to this one have not ended; parked ones count. */
export const countOpen = async (db: pg.Pool, upTo: number): Promise<number> => {
  const { rows } = await db.query<{ n: string }>(
    `
select (select count(*) from queue where seq <= $1) + (select count(*) from lane_queue where seq <= $1) + (select count(*) from delayed where seq <= $1)
  + (select count(*) from member m join batch b on b.id = m.batch_id where m.seq <= $1 and b.state in (1, 3)) as n`,
    [upTo],
  );
  return Number(rows[0]!.n);
};

/** The store's rows about the work up to this one that is open: why it waits is in them. */
export const describeOpen = async (db: pg.Pool, upTo: number): Promise<string[]> => {
  const { rows } = await db.query<{ line: string }>(
    `
select 'batch ' || to_jsonb(b)::text || ' target ' || to_jsonb(g)::text || ' clock ' || clock()::text as line
from batch b join target g on g.id = b.target_id where b.state in (1, 3) and b.members[1] <= $1
union all
select 'queued ' || to_jsonb(q)::text || ' target ' || to_jsonb(g)::text || ' clock ' || clock()::text
from queue q join target g on g.id = q.target_id where q.seq <= $1
limit 10`,
    [upTo],
  );
  return rows.map(({ line }) => line);
};

export interface StoredTask {
  id: string;
  handler: string;
  state: number;
}

/** States of all tasks, by the numbers of the store. */
export const readEnds = async (db: pg.Pool): Promise<StoredTask[]> =>
  (
    await db.query<StoredTask>(`
select s.id, h.name as handler, s.state::int as state from task_state s join target t on t.id = s.target_id join handler h on h.id = t.handler_id`)
  ).rows;
