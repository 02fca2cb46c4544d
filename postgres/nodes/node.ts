import type { Queryable } from '../pool';

/**
 * One live worker process. `seen_at` is the database's clock: readers need no clock of their own.
 */
export interface NodeRow {
  id: string;
  taskQueue: string;
  handlers: readonly string[];
  version: string;
  draining: boolean;
  /**
   * Whether it answers roll calls of executions (`batch_support`), with which attributes, and which
   * functions it has.
   */
  batch?: boolean;
  attributes?: Readonly<Record<string, string>>;
  functions?: readonly string[];
  /** Topics of executions that it subscribes to. */
  topics?: readonly string[];
  /** The node's name, which stays after a restart; null: it has none. */
  name?: string | null;
  /** How late the Temporal server fires timers at most, as it measured; null: not measured. */
  timersLateMs?: number | null;
}

/**
 * Writes a sign of life; a node that is stopping keeps that state. Inserts the row if it is
 * missing: at the start, and after a sweeper took the process for dead. A drain by an operator is
 * not in this row but in table `drain`, so that it also applies to a row inserted again. A drain
 * written during this statement is seen by the next one. `hangsMs`: for how long the main thread
 * has given no sign of life. Returns how long the node had been silent (ms); null: its row was
 * missing.
 */
export const touchNode = async (db: Queryable, node: NodeRow, hangsMs = 0): Promise<number | null> => {
  const { rows } = await db.query<{ silentMs: number | null }>({
    name: 'touch-node',
    text: `
with was as (select seen_at from node where id = $1)
insert into node as n (
  id, task_queue, handlers, version, started_at, seen_at, draining, batch, attributes, functions, name, drained, topics,
  answered_at, timers_late_ms)
values ($1, $2, $3, $4, clock(), clock(), $5, $6, $7, $8, $9,
  exists (select from drain d where d.node = $1 or d.is_name and d.node = $9), $10, clock() - $11 * interval '1 ms', $12)
on conflict (id) do update set seen_at = excluded.seen_at, draining = n.draining or excluded.draining,
  functions = excluded.functions, drained = excluded.drained, answered_at = excluded.answered_at,
  timers_late_ms = excluded.timers_late_ms
returning (extract(epoch from clock() - (select seen_at from was)) * 1000)::float8 as "silentMs"`,
    values: [
      node.id,
      node.taskQueue,
      node.handlers,
      node.version,
      node.draining,
      node.batch ?? false,
      JSON.stringify(node.attributes ?? {}),
      node.functions ?? [],
      node.name ?? null,
      node.topics ?? [],
      hangsMs,
      node.timersLateMs ?? null,
    ],
  });
  return rows[0]!.silentMs;
};

/**
 * Returns how late timers of the Temporal server are, as live nodes measured; null: none did yet.
 */
export const readTimersLate = async (db: Queryable, nodeLiveMs: number): Promise<number | null> => {
  const { rows } = await db.query<{ lateMs: number | null }>({
    name: 'read-timers-late',
    text: `
select max(timers_late_ms)::float8 as "lateMs"
from node
where seen_at > clock() - $1 * interval '1 ms'`,
    values: [nodeLiveMs],
  });
  return rows[0]!.lateMs;
};

/** Removes a node that stops cleanly, so that nothing waits for its signs of life. */
export const removeNode = async (db: Queryable, id: string): Promise<void> => {
  await db.query({ name: 'remove-node', text: 'delete from node where id = $1', values: [id] });
};

/** Removes nodes without a sign of life for this long; returns how many. */
export const deleteStaleNodes = async (db: Queryable, olderThanMs: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-stale-nodes',
    text: `delete from node where seen_at < clock() - $1 * interval '1 ms'`,
    values: [olderThanMs],
  });
  return rowCount ?? 0;
};

/** When a node gave its last sign of life, and how long ago that is, by the store's clock. */
export interface LastSign {
  seenAtMs: number;
  agoMs: number;
}

/** Returns a node's last sign of life; null: there is no such node. */
export const readLastSign = async (db: Queryable, id: string): Promise<LastSign | null> => {
  const { rows } = await db.query<LastSign>({
    name: 'read-last-sign',
    text: `
select (extract(epoch from seen_at) * 1000)::float8 as "seenAtMs",
  (extract(epoch from clock() - seen_at) * 1000)::float8 as "agoMs"
from node
where id = $1`,
    values: [id],
  });
  return rows[0] ?? null;
};

/** A node that was silent for this long is not used: it has missed many heartbeats. */
export const NODE_LIVE_MS = 30_000;

/**
 * Returns the handlers that a live worker serves: seen within the last `withinMs`, not draining.
 */
export const servedHandlers = async (db: Queryable, withinMs: number): Promise<string[]> => {
  const { rows } = await db.query<{ handler: string }>({
    name: 'served-handlers',
    text: `
select distinct u.handler
from node n cross join lateral unnest(n.handlers) u (handler)
where not n.draining and n.seen_at > clock() - $1 * interval '1 ms'
order by 1`,
    values: [withinMs],
  });
  return rows.map((row) => row.handler);
};

/** A node as the balancer sees it. */
export interface NodeFactsRow {
  id: string;
  name: string | null;
  handlers: string[];
  attributes: Record<string, string>;
  /** Drained by an operator. */
  drained: boolean;
  /** The process is stopping. */
  stopping: boolean;
  alive: boolean;
  /** Time since its last sign of life. */
  seenMs: number;
  startedMs: number;
}

/**
 * Returns all nodes with a sign of life within `withinMs`, and those without that the store still
 * knows.
 */
export const readNodeFacts = async (db: Queryable, withinMs: number): Promise<NodeFactsRow[]> => {
  const { rows } = await db.query<NodeFactsRow>({
    name: 'read-node-facts',
    text: `
select id, name, handlers, attributes, drained, draining as stopping,
  seen_at > clock() - $1 * interval '1 ms' as alive, (extract(epoch from clock() - seen_at) * 1000)::float8 as "seenMs",
  (extract(epoch from started_at) * 1000)::float8 as "startedMs"
from node
order by id`,
    values: [withinMs],
  });
  return rows;
};

/**
 * Drains a node for an operator: it is to have no partitions and no chunks. By id: this process,
 * whenever it is there. By name: all nodes of that name, also those that start later. Returns the
 * ids of those that exist; none: there is no such node, and nothing was written.
 */
export const drainNode = async (db: Queryable, idOrName: string): Promise<string[]> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'drain-node',
    text: `
with meant as (select id, $1 <> id as "isName" from node where id = $1 or name = $1),
said as (
  insert into drain
  select $1, bool_and(m."isName"), clock()
  from meant m
  having count(*) > 0
  on conflict (node) do nothing)
update node n set drained = true
from meant m
where n.id = m.id
returning n.id`,
    values: [idOrName],
  });
  return rows.map(({ id }) => id);
};

/**
 * Ends a node's drain, by id or name. Returns the ids of the nodes that exist, and whether there
 * was a drain.
 */
export const undrainNode = async (db: Queryable, idOrName: string): Promise<{ ids: string[]; wasDrained: boolean }> => {
  const { rows } = await db.query<{ ids: string[]; wasDrained: boolean }>({
    name: 'undrain-node',
    text: `
with meant as (select id, name from node where id = $1 or name = $1),
taken as (
  delete from drain
  where node = $1 or node in (select id from meant union all select name from meant)
  returning node),
freed as (update node n set drained = false from meant m where n.id = m.id returning n.id)
select coalesce((select array_agg(id) from freed), '{}') as ids, exists (select from taken) as "wasDrained"`,
    values: [idOrName],
  });
  return rows[0]!;
};

/**
 * Deletes drains of processes whose rows have been gone for so long that they do not come back;
 * drains by name stay.
 */
export const forgetDrains = async (db: Queryable, olderThanMs: number): Promise<void> => {
  await db.query({
    name: 'forget-drains',
    text: `delete from drain d where not d.is_name and d.drained_at < clock() - $1 * interval '1 ms' and not
      exists (select from node n where n.id = d.node)`,
    values: [olderThanMs],
  });
};
