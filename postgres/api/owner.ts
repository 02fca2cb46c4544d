import { BYTES_OF_LABELS } from '../grouping/labels';
import type { Queryable } from '../pool';

/** Statements that say whose something is, for callers of the HTTP API who may not see all. */

/** Returns the handler of each of these tasks that exists, by the task's id. */
export const handlersOfTasks = async (db: Queryable, ids: readonly string[]): Promise<Map<string, string>> => {
  const { rows } = await db.query<{ id: string; handler: string }>({
    name: 'handlers-of-tasks',
    text: `
select t.id, h.name as handler
from task t
join target g on g.id = t.target_id
join handler h on h.id = g.handler_id
where t.id = any($1)`,
    values: [ids],
  });
  return new Map(rows.map(({ id, handler }) => [id, handler]));
};

/** A lane's name is null where a batch is in none. */
export interface BatchOwner {
  handler: string;
  service: string | null;
}

/** Returns the owners of those of these batches that exist. */
export const ownersOfBatches = async (db: Queryable, batches: readonly number[]): Promise<BatchOwner[]> => {
  const { rows } = await db.query<BatchOwner>({
    name: 'owners-of-batches',
    text: `
select h.name as handler, l.service
from batch b
join target g on g.id = b.target_id
join handler h on h.id = g.handler_id
left join lane_batch s on s.batch_id = b.id
left join lane l on l.id = s.lane_id
where b.id = any($1::bigint[])`,
    values: [batches],
  });
  return rows;
};

/** Returns the handlers of those of these lanes that exist, by their services. */
export const handlersOfLanes = async (db: Queryable, services: readonly string[]): Promise<Map<string, string>> => {
  const { rows } = await db.query<{ service: string; handler: string }>({
    name: 'handlers-of-lanes',
    text: `
select l.service, h.name as handler
from lane l
join handler h on h.id = l.handler_id
where l.service = any($1::text[])`,
    values: [services],
  });
  return new Map(rows.map(({ service, handler }) => [service, handler]));
};

/** Returns the lanes that these targets of a handler feed, by the targets' keys. */
export const lanesOfTargets = async (
  db: Queryable,
  handler: string,
  keys: readonly string[],
): Promise<Map<string, string>> => {
  const { rows } = await db.query<{ key: string; service: string }>({
    name: 'lanes-of-targets',
    text: `
select t.key, l.service
from handler h
join target t on t.handler_id = h.id
join lane l on l.id = t.lane_id
where h.name = $1 and t.key = any($2::text[])`,
    values: [handler, keys],
  });
  return new Map(rows.map(({ key, service }) => [key, service]));
};

/** Returns the handlers of the open batches of a lane, and of the one that halts it. */
export const handlersInLane = async (db: Queryable, service: string): Promise<string[]> => {
  const { rows } = await db.query<{ handler: string }>({
    name: 'handlers-in-lane',
    text: `
select h.name as handler
from (
  select s.handler_id
  from lane l
  join lane_batch s on s.lane_id = l.id
  where l.service = $1 and s.status < 10 /* open */
  union
  select s.handler_id
  from lane l
  join lane_state a on a.lane_id = l.id
  join lane_batch s on s.batch_id = a.halted_by
  where l.service = $1
) o
join handler h on h.id = o.handler_id`,
    values: [service],
  });
  return rows.map(({ handler }) => handler);
};

/** What halts a lane, and so what a fix replaces. */
export interface Halt {
  /** Null: nothing halts it. */
  batch: number | null;
  /** Of the batch; need not be the lane's. Null also where the batch was deleted. */
  handler: string | null;
  /** Its tasks, and their bytes with those of their labels, as `readBacklog` counts them. */
  n: number;
  bytes: number;
  /** Its state keys, which what replaces it has, too. */
  reads: string[];
  writes: string[];
}

/** Returns what halts a lane; null: there is no such lane. */
export const readHalt = async (db: Queryable, service: string): Promise<Halt | null> => {
  const { rows } = await db.query<Halt>({
    name: 'read-halt',
    text: `
select s.halted_by as batch, h.name as handler, coalesce(b.n, 0) as n,
  coalesce(b.bytes, 0) + (
    select coalesce(sum(${BYTES_OF_LABELS}), 0)
    from task_label l
    where l.seq = any(b.members)
  ) as bytes, coalesce(k.reads, '{}') as reads, coalesce(k.writes, '{}') as writes
from lane a
join lane_state s on s.lane_id = a.id
left join lane_batch k on k.batch_id = s.halted_by
left join batch b on b.id = s.halted_by
left join target t on t.id = b.target_id
left join handler h on h.id = t.handler_id
where a.service = $1`,
    values: [service],
  });
  return rows[0] ?? null;
};

/** Returns the handler of a bulk action; null: there is no such one. */
export const handlerOfBulk = async (db: Queryable, id: string): Promise<string | null> => {
  const { rows } = await db.query<{ handler: string }>({
    name: 'handler-of-bulk',
    text: 'select h.name as handler from bulk_action b join handler h on h.id = b.handler_id where b.id = $1',
    values: [id],
  });
  return rows[0]?.handler ?? null;
};

/** Returns the function of an execution of the tenant; null: the tenant has no such execution. */
export const functionOfExecution = async (db: Queryable, id: string, tenant: string): Promise<string | null> => {
  const { rows } = await db.query<{ functionId: string }>({
    name: 'function-of-execution',
    text: 'select function_id as "functionId" from execution where id = $1 and tenant = $2',
    values: [id, tenant],
  });
  return rows[0]?.functionId ?? null;
};

/**
 * Returns how many items an execution of the tenant has that is still being sent; null: there is no
 * such execution, or its list is complete.
 */
export const itemsSentOf = async (db: Queryable, id: string, tenant: string): Promise<number | null> => {
  const { rows } = await db.query<{ items: number }>({
    name: 'items-sent-of',
    text: 'select items from execution where id = $1 and tenant = $2 and state = 2 /* staging */',
    values: [id, tenant],
  });
  return rows[0]?.items ?? null;
};

/** Counts those of these fan-outs that are the tenant's. */
export const countFanoutsOf = async (db: Queryable, ids: readonly string[], tenant: string): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    name: 'count-fanouts-of',
    text: 'select count(*)::int as n from fanout where public_id = any($1::uuid[]) and tenant = $2',
    values: [ids, tenant],
  });
  return rows[0]!.n;
};

/** Says whether a fan-out has this id. */
export const isFanout = async (db: Queryable, id: string): Promise<boolean> => {
  const { rows } = await db.query({ name: 'is-fanout', text: 'select from fanout where public_id = $1', values: [id] });
  return rows.length > 0;
};
