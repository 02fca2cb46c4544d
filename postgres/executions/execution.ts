import type { Queryable } from '../pool';

export interface NewExecution {
  id: string;
  functionId: string;
  method: string;
  config: object;
  topic: string | null;
  /** 0: the operator's limit applies. */
  maxAttempts: number;
  /** Null: of no tenant. */
  tenant: string | null;
}

/**
 * How long the client may take for the next part of a list before the sweeper considers the list
 * abandoned; each part renews it.
 */
const STAGING_MS = 3_600_000;
/** Time after which the sweeper starts the workflow, in case the client died before it could. */
const START_MS = 5_000;

/**
 * Inserts an execution whose list is not complete yet: nothing runs before `acceptExecution`.
 * False: the id is taken.
 */
export const insertExecution = async (db: Queryable, execution: NewExecution): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'insert-execution',
    text: `
insert into execution (id, function_id, method, config, topic, max_attempts, resume_at, created_at, tenant)
values ($1, $2, $3, $4, $5, $6, clock() + $7 * interval '1 ms', clock(), $8) on conflict (id) do nothing`,
    values: [
      execution.id,
      execution.functionId,
      execution.method,
      JSON.stringify(execution.config),
      execution.topic,
      execution.maxAttempts,
      STAGING_MS,
      execution.tenant,
    ],
  });
  return rowCount === 1;
};

/**
 * Appends the next part of a list, at most 10,000 items: only at the place where the list ends now,
 * so that a part that is sent again after a lost answer is not stored twice. Returns how many items
 * there are now. Earlier copies of a content are looked up once, by its first item: a look-up reads
 * past every copy that this statement has inserted before it.
 */
export const appendItems = async (
  db: Queryable,
  executionId: string,
  first: number,
  items: { contentIds: readonly string[]; argumentLists: readonly string[] },
): Promise<number | null> => {
  const { rows } = await db.query<{ items: number }>({
    name: 'append-items',
    text: `
with e as (
  update execution set items = items + cardinality($3::uuid[]), n_created = n_created + cardinality($3::uuid[]),
    resume_at = clock() + $5 * interval '1 ms'
  where id = $1 and state = 2 /* staging */ and items = $2
  returning id, items),
part as (
  select u.content_id, u.arguments, $2 + u.i::int - 1 as position,
    row_number() over (partition by u.content_id order by u.i) as nth
  from unnest($3::uuid[], $4::text[]) with ordinality u (content_id, arguments, i)),
placed as (
  select p.position, p.content_id, p.arguments,
    p.nth + coalesce(max(b.copy) over (partition by p.content_id), 0) as copy
  from part p left join lateral (
    select w.copy
    from work_item w
    where w.execution_id = $1 and w.content_id = p.content_id and p.nth = 1
    order by w.copy desc limit 1) b on true),
added as (
  insert into work_item (execution_id, position, content_id, copy, arguments)
  select e.id, p.position, p.content_id, p.copy, p.arguments::json
  from e cross join placed p)
select items
from e`,
    values: [executionId, first, items.contentIds, items.argumentLists, STAGING_MS],
  });
  return rows[0]?.items ?? null;
};

/**
 * Accepts an execution whose list is complete. Idempotent; false: there is no such execution, or it
 * has no items.
 */
export const acceptExecution = async (db: Queryable, executionId: string, items: number): Promise<boolean> => {
  const { rows } = await db.query<{ accepted: boolean }>({
    name: 'accept-execution',
    text: `
with a as (
  update execution set state = 0 /* created */, resume_at = clock() + $3 * interval '1 ms'
  where id = $1 and state = 2 /* staging */ and items = $2 and items > 0
  returning id)
select exists (select from a)
  or exists (select from execution where id = $1 and state <> 2 /* staging */ and items = $2) as accepted`,
    values: [executionId, items, START_MS],
  });
  return rows[0]!.accepted;
};

/**
 * Cancels an execution: nothing more of it runs. Returns its state before; null: there is none. An
 * execution that has ended stays as it is.
 */
export const cancelExecution = async (db: Queryable, executionId: string): Promise<number | null> => {
  const { rows } = await db.query<{ state: number }>({
    name: 'cancel-execution',
    text: `
with before as (select id, state from execution where id = $1 for update),
c as (
  update execution e set state = -3 /* cancelled */, finished_at = clock(), wants_nodes = false, note = null,
    resume_at = null
  from before b
  where e.id = b.id and b.state in (0 /* created */, 1 /* in progress */, 2 /* staging */))
select state
from before`,
    values: [executionId],
  });
  return rows[0]?.state ?? null;
};

/** Executions that are woken at once for a new node; the sweeper wakes the others. */
export const WOKEN_AT_ONCE = 1_000;
/** Time from one that a new node makes due to the next: the sweeper wakes 100 per second. */
const HASTENED_MS = 10;

/** A wake: the workflow is given time for a turn, and only a turn clears that it was woken. */
const WOKEN = `resume_at = clock() + $2 * interval '1 ms',
  woken_at = coalesce(woken_at, clock() + $3 * interval '1 ms')`;

/**
 * Returns the executions whose workflow is overdue for a turn, oldest first, and gives each
 * `againMs` to take one. The first wake is noted (`woken_at`), as of `startMs` from now, when its
 * next run begins; only a turn clears it.
 */
export const dueExecutions = async (db: Queryable, limit: number, againMs: number, startMs = 0): Promise<string[]> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'due-executions',
    text: `
update execution set ${WOKEN}
where id in (
  select id
  from execution
  where state in (0 /* created */, 1 /* in progress */) and resume_at <= clock()
  order by resume_at limit $1 for update skip locked)
returning id`,
    values: [limit, againMs, startMs],
  });
  return rows.map((row) => row.id);
};

/** Wakes these executions before they are due, in the same way. Returns those that are open. */
export const wakeOpenExecutions = async (
  db: Queryable,
  ids: readonly string[],
  againMs: number,
  startMs: number,
): Promise<string[]> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'wake-open-executions',
    text: `
update execution set ${WOKEN}
where id in (
  select id
  from execution
  where id = any($1::uuid[]) and state in (0 /* created */, 1 /* in progress */)
  order by id for update skip locked)
returning id`,
    values: [ids, againMs, startMs],
  });
  return rows.map((row) => row.id);
};

/**
 * Makes the executions that wait for a node due for the sweeper, for a node that has just come: one
 * after the other, so that none is overdue only because it is not its turn yet. Returns the oldest.
 */
export const hastenWaitingExecutions = async (db: Queryable, limit: number): Promise<string[]> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'hasten-waiting-executions',
    text: `
with waiting as (
  select id, resume_at
  from execution
  where state in (0 /* created */, 1 /* in progress */) and wants_nodes
  order by id for no key update),
placed as (
  select id, row_number() over (order by resume_at, id) as place
  from waiting),
due as (
  update execution e set resume_at = least(e.resume_at, clock() + p.place * interval '${HASTENED_MS} ms')
  from placed p
  where e.id = p.id and (e.resume_at is null or e.resume_at > clock() + p.place * interval '${HASTENED_MS} ms'))
select id
from placed
where place <= $1
order by place`,
    values: [limit],
  });
  return rows.map((row) => row.id);
};

/**
 * Deletes abandoned lists and their items, at most `limit` per call. Returns how many items and
 * executions were deleted.
 */
export const deleteAbandonedStaging = async (db: Queryable, limit: number): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    name: 'delete-abandoned-staging',
    text: `
with old as (
  select id
  from execution
  where state = 2 /* staging */ and resume_at < clock()
  order by resume_at limit 1 for update skip locked),
gone as (
  delete from work_item w using (
    select w.ctid as at
    from work_item w join old o on w.execution_id = o.id
    order by w.position desc limit $1) g
  where w.ctid = g.at
  returning w.position),
less as (
  update execution e set items = items - g.n, n_created = n_created - g.n
  from (select count(*)::int as n from gone) g, old o
  where e.id = o.id and g.n > 0),
last as (
  delete from execution e using old o
  where e.id = o.id and not exists (select from gone)
  returning e.id)
select ((select count(*) from gone) + (select count(*) from last))::int as n`,
    values: [limit],
  });
  return rows[0]!.n;
};

/** Reads nothing, and fails if a table or column of executions is missing. */
export const probeExecutionTables = async (db: Queryable): Promise<void> => {
  await db.query({
    text: `
select e.id, e.function_id, e.method, e.config, e.topic, e.state, e.max_attempts, e.attempts_limit, e.items,
  e.n_created, e.n_running, e.n_done, e.n_failed, e.n_dead,
  e.run, e.run_started_at, e.epoch, e.turn, e.round, e.wants_nodes, e.note, e.resume_at, e.created_at, e.started_at,
    e.finished_at,
  c.round, c.place, c.epoch, c.node_id, c.state, c.n, c.n_open, c.expires_at, c.reason, c.reached, c.created_at,
    c.started_at, c.finished_at,
  w.position, w.state, w.attempts, w.content_id, w.copy, w.exit_code, w.arguments, w.stdout, w.stderr, w.usage,
    w.metadata, w.losses, n.functions, n.topics, n.answered_at,
    n.batch, n.attributes
from execution e join chunk c on c.execution_id = e.id join work_item w on w.chunk_id = c.id
  and w.execution_id = e.id join node n on n.id = c.node_id limit 0`,
  });
};
