import type { Door } from '../../workflows/contracts/audit';
import { NODE_LIVE_MS } from '../nodes/node';
import type { Client, Queryable } from '../pool';

/** Statements about bulk actions: their rows, as they are started, shown, stopped and deleted. */

export interface NewBulk {
  id: string;
  handlerId: number;
  /** JSON. */
  filter: string;
  /** JSON. */
  action: string;
  who: string;
  door: string;
  origin: string | null;
  /** Programs from before migration 000027 are not to make it. */
  isHidden: boolean;
}

/** Inserts one that begins at once; it sees what there is now. False: there is one with this id. */
export const insertBulk = async (db: Queryable, bulk: NewBulk): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'insert-bulk',
    text: `
insert into bulk_action (id, handler_id, filter, action, last_seq, last_batch_id, due_at, step_at, who, door, origin,
  created_at, changed_at)
select $1, $2, $3::jsonb, $4::jsonb, coalesce((select max(seq) from task), 0), coalesce((select max(id) from batch), 0),
  case when $8 then 'infinity' else clock() end, case when $8 then clock() end, $5, $6, $7, clock(), clock()
on conflict (id) do nothing`,
    values: [bulk.id, bulk.handlerId, bulk.filter, bulk.action, bulk.who, bulk.door, bulk.origin, bulk.isHidden],
  });
  return rowCount === 1;
};

export interface BulkRow {
  id: string;
  handlerId: number;
  handler: string;
  filter: Record<string, unknown>;
  action: Record<string, unknown>;
  state: number;
  step: number;
  /** Hidden from programs of before migration 000027. */
  isHidden: boolean;
  /** Seconds for which its next step has been due; null: it is not, or has ended. */
  dueForSeconds: number | null;
  place: unknown;
  lastSeq: number;
  lastBatchId: number;
  /** Start in microseconds. */
  startUs: number;
  total: number;
  done: number;
  skipped: number;
  failures: Record<string, number>;
  tries: number;
  error: string | null;
  who: string;
  door: Door;
  origin: string | null;
  /** Seconds for which it has worked; null: it has not begun. */
  seconds: number | null;
  createdAt: Date;
  changedAt: Date;
  finishedAt: Date | null;
}

/** A bulk action as it is shown, with the workers that may make it. */
export interface ShownBulk extends BulkRow {
  /** A worker is alive. */
  hasWorkers: boolean;
  /** A worker is alive that has the handler. */
  isServed: boolean;
}

/** Part of statements: a row, with its action or what is shown of it. */
export const columns = (action: string): string => `
  b.id, b.handler_id as "handlerId", h.name as handler, b.filter, ${action} as action, b.state, b.step, b.place,
  b.step_at is not null as "isHidden", case when b.due_at is not null and coalesce(b.step_at, b.due_at) <= clock()
    then extract(epoch from clock() - coalesce(b.step_at, b.due_at))::float8 end as "dueForSeconds",
  b.last_seq as "lastSeq", b.last_batch_id as "lastBatchId",
  (extract(epoch from b.created_at) * 1000000)::bigint as "startUs", b.total, b.n_done as done, b.n_skipped as skipped,
  b.failures, b.tries, b.error, b.who, b.door, b.origin,
  extract(epoch from coalesce(b.finished_at, clock()) - b.worked_from)::float8 as seconds, b.created_at as "createdAt",
  b.changed_at as "changedAt", b.finished_at as "finishedAt"`;
export const FROM = 'from bulk_action b join handler h on h.id = b.handler_id';
const LIVE = `not n.draining and n.seen_at > clock() - interval '${NODE_LIVE_MS} ms'`;
const shown = (action: string): string => `
select ${columns(action)},
  exists (select from node n where ${LIVE}) as "hasWorkers",
  exists (select from node n where ${LIVE} and h.name = any(n.handlers)) as "isServed"
${FROM}`;

/** Most characters of a patch that lists have, which hold a thousand of them. */
const LISTED_PATCH = 1_000;
const LISTED_ACTION = `case when length(b.action->>'payloadPatch') <= ${LISTED_PATCH} is not false then b.action
  else jsonb_set(b.action, '{payloadPatch}', to_jsonb(format('(%s characters, which lists leave out)',
    length(b.action->>'payloadPatch')))) end`;

export const readBulk = async (db: Queryable, id: string): Promise<ShownBulk | null> => {
  const { rows } = await db.query<ShownBulk>({
    name: 'read-bulk',
    text: `${shown('b.action')} where b.id = $1`,
    values: [id],
  });
  return rows[0] ?? null;
};

/** Where a list goes on: before a time in microseconds, and at that time before an id. */
export type BulkPlace = readonly [us: number, id: string];

/** Lists them, newest first; `openOnly`: those that have not ended. */
export const listBulks = async (
  db: Queryable,
  { handlerId, openOnly }: { handlerId: number | null; openOnly: boolean },
  [us, id]: BulkPlace,
  limit: number,
): Promise<ShownBulk[]> => {
  const { rows } = await db.query<ShownBulk>({
    name: 'list-bulks',
    text: `${shown(LISTED_ACTION)}
where ($1::int is null or b.handler_id = $1) and (not $2::boolean or b.due_at is not null)
  and (b.created_at, b.id) < (timestamptz 'epoch' + $3::float8 * interval '1 microsecond', $4::uuid)
order by b.created_at desc, b.id desc limit $5`,
    values: [handlerId, openOnly, us, id, limit],
  });
  return rows;
};

/** Stops it: a step in progress ends before. False: it had ended, or there is none. */
export const stopBulk = async (db: Queryable, id: string): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'stop-bulk',
    text: `
update bulk_action set state = 3 /* stopped */, due_at = null, finished_at = clock(), changed_at = clock()
where id = $1 and due_at is not null`,
    values: [id],
  });
  return rowCount === 1;
};

/** Deletes some that ended so long ago. */
export const deleteOldBulks = async (db: Queryable, olderThanMs: number, limit: number): Promise<void> => {
  await db.query({
    name: 'delete-old-bulks',
    text: `
delete from bulk_action
where id in (
  select id
  from bulk_action
  where created_at < clock() - $1 * interval '1 ms' and finished_at < clock() - $1 * interval '1 ms'
  order by created_at limit $2)`,
    values: [olderThanMs, limit],
  });
};

export interface BulkGauges {
  open: number;
  /** Seconds since the open one that has stood for longest made a step; 0: none is open. */
  oldestStepSeconds: number;
}

export const readBulkGauges = async (client: Client): Promise<BulkGauges> => {
  const { rows } = await client.query<BulkGauges>({
    name: 'read-bulk-gauges',
    text: `
select count(*)::int as open,
  coalesce(greatest(0, extract(epoch from clock() - min(changed_at))), 0)::float8 as "oldestStepSeconds"
from bulk_action
where due_at is not null`,
  });
  return rows[0]!;
};
