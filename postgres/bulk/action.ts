import { NODE_LIVE_MS } from '../nodes/node';
import type { Client, Queryable } from '../pool';

/** Statements about bulk actions: their rows, and the steps in which they are worked off. */

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
  door: 'client' | 'cli' | 'api';
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

const columns = (action: string): string => `
  b.id, b.handler_id as "handlerId", h.name as handler, b.filter, ${action} as action, b.state, b.step, b.place,
  b.step_at is not null as "isHidden", case when b.due_at is not null and coalesce(b.step_at, b.due_at) <= clock()
    then extract(epoch from clock() - coalesce(b.step_at, b.due_at))::float8 end as "dueForSeconds",
  b.last_seq as "lastSeq", b.last_batch_id as "lastBatchId",
  (extract(epoch from b.created_at) * 1000000)::bigint as "startUs", b.total, b.n_done as done, b.n_skipped as skipped,
  b.failures, b.tries, b.error, b.who, b.door, b.origin,
  extract(epoch from coalesce(b.finished_at, clock()) - b.worked_from)::float8 as seconds, b.created_at as "createdAt",
  b.changed_at as "changedAt", b.finished_at as "finishedAt"`;
const FROM = 'from bulk_action b join handler h on h.id = b.handler_id';
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

/** Which steps a process can make. */
export interface Maker {
  /** The handlers whose payloads it can change, and which version of them it knows. */
  handlers: readonly { name: string; payloadVersion: number }[];
  /** Only those that are hidden from older programs, one of which may have the sweeper's lease. */
  onlyHidden: boolean;
  /** The fields that it knows, of filters and of each action. */
  filter: readonly string[];
  actions: Readonly<Record<string, readonly string[]>>;
}

/**
 * Part of a statement: the process knows all fields. One that has an unknown action has no field
 * that is known.
 */
const KNOWN = `(b.filter - $3::text[] = '{}' and b.action - array(
  select jsonb_array_elements_text($4::jsonb->(b.action->>'do'))) = '{}')`;

/**
 * Returns the one whose next step has been due for longest; null: none is due. One that has fields
 * which the process does not know comes after all others, and first those that do not say so.
 */
export const findDueBulk = async (
  db: Queryable,
  { handlers, onlyHidden, filter, actions }: Maker,
): Promise<BulkRow | null> => {
  const { rows } = await db.query<BulkRow>({
    name: 'find-due-bulk',
    text: `
select ${columns('b.action')}
${FROM}
where b.due_at is not null and coalesce(b.step_at, b.due_at) <= clock() and (b.step_at is not null or not $2::boolean)
  and (not b.action ? 'payloadPatch' or exists (
    select
    from unnest($1::text[], $5::int[]) k (name, version)
    where k.name = h.name and k.version >= coalesce((b.action->>'payloadVersion')::int, 1)))
order by ${KNOWN} desc, not ${KNOWN} and b.error is not null, coalesce(b.step_at, b.due_at) limit 1`,
    values: [
      handlers.map(({ name }) => name),
      onlyHidden,
      filter,
      JSON.stringify(actions),
      handlers.map(({ payloadVersion }) => payloadVersion),
    ],
  });
  return rows[0] ?? null;
};

/** Notes why a process leaves it alone, which others need not. False: that is noted. */
export const noteLeftAlone = async (db: Queryable, id: string, step: number, error: string): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'note-left-alone',
    text: `
update bulk_action set error = $3
where id = $1 and step = $2 and due_at is not null and error is null`,
    values: [id, step, error],
  });
  return rowCount === 1;
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

/**
 * Keeps a step of a hidden action from other processes, which would decide and encode the same. It
 * is due again after so many milliseconds, unless it is made or this is renewed. False: another
 * process has it, or it is made.
 */
export const claimStep = async (db: Queryable, id: string, step: number, ms: number): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'claim-step',
    text: `
update bulk_action set step_at = clock() + $3 * interval '1 ms'
where id = $1 and step = $2 and due_at is not null and step_at <= clock()`,
    values: [id, step, ms],
  });
  return rowCount === 1;
};

/** Keeps a step for longer that this process has claimed. */
export const renewStep = async (db: Queryable, id: string, step: number, ms: number): Promise<void> => {
  await db.query({
    name: 'renew-step',
    text: `
update bulk_action set step_at = clock() + $3 * interval '1 ms'
where id = $1 and step = $2 and due_at is not null and step_at is not null`,
    values: [id, step, ms],
  });
};

/** Says whether the step is still to be made, and locks the action: nothing else makes it. */
export const lockStep = async (client: Client, id: string, step: number): Promise<boolean> => {
  const { rows } = await client.query({
    name: 'lock-step',
    text: 'select from bulk_action where id = $1 and step = $2 and due_at is not null for no key update',
    values: [id, step],
  });
  return rows.length > 0;
};

/** What a step of counting found; `place` null: that was the end, and the work begins. */
export interface Counted {
  total: number;
  place: string | null;
}

/** Notes a step of counting, unless another process has made it or the action has ended. */
export const noteCounted = async (
  db: Queryable,
  id: string,
  step: number,
  { total, place }: Counted,
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'note-counted',
    text: `
update bulk_action set total = total + $3, place = $4::jsonb, step = step + 1, tries = 0, error = null,
  due_at = case when step_at is null then clock() else 'infinity' end,
  step_at = case when step_at is not null then clock() end, changed_at = clock(),
  state = case when $4::jsonb is null then 1 /* working */ else 0 /* counting */ end,
  worked_from = case when $4::jsonb is null then clock() end
where id = $1 and step = $2 and state = 0 /* counting */`,
    values: [id, step, total, place],
  });
  return rowCount === 1;
};

/** What a step of work came to; `place` null: that was the end. */
export interface Worked {
  done: number;
  skipped: number;
  /** JSON: all failures so far. */
  failures: string;
  place: string | null;
}

/** Notes a step of work, in the transaction that locked it. */
export const noteWorked = async (
  client: Client,
  id: string,
  { done, skipped, failures, place }: Worked,
): Promise<void> => {
  await client.query({
    name: 'note-worked',
    text: `
update bulk_action set n_done = n_done + $2, n_skipped = n_skipped + $3, failures = $4::jsonb, place = $5::jsonb,
  step = step + 1, tries = 0, error = null, changed_at = clock(),
  state = case when $5::jsonb is null then 2 /* done */ else 1 /* working */ end,
  due_at = case when $5::jsonb is null then null when step_at is null then clock() else 'infinity' end,
  step_at = case when step_at is not null then clock() end,
  finished_at = case when $5::jsonb is null then clock() end
where id = $1`,
    values: [id, done, skipped, failures, place],
  });
};

/** Notes why a step was not made: it is tried again after a wait, which doubles up to a minute. */
export const noteFailedStep = async (db: Queryable, id: string, step: number, error: string): Promise<void> => {
  await db.query({
    name: 'note-failed-step',
    text: `
update bulk_action b set tries = b.tries + 1, error = $3,
  due_at = case when b.step_at is null then w.until else 'infinity' end,
  step_at = case when b.step_at is not null then w.until end
from (
  select id, clock() + least(60, power(2, least(tries, 6))) * interval '1 s' as until
  from bulk_action
  where id = $1) w
where b.id = w.id and b.step = $2 and b.due_at is not null`,
    values: [id, step, error],
  });
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
