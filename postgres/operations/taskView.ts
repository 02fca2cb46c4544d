import type { Queryable } from '../pool';

/** Statements that show tasks by id, with the state that the view derives. */

export interface TaskRow {
  seq: number;
  id: string;
  handler: string;
  target: string;
  state: number;
  attempts: number;
  batchId: number | null;
  /** The downstream's value for it, if any, is in its batch's pages. */
  paged: boolean;
  createdAt: Date;
  notBefore: Date | null;
  /** When it expires if it still waits then; null: never, or it has ended. */
  expiresAt: Date | null;
  priority: number;
  /** Version of the payload; null: the first. */
  version: number | null;
  trace: string | null;
  payload: string;
  /** Null: none. */
  tags: string[] | null;
  /** JSON text; null: none. */
  metadata: string | null;
  /** JSON text of a result set by hand; null: none. */
  ownResult: string | null;
  error: string | null;
  finishedAt: Date | null;
  /** Ids, in the order that they were given in; null: none. */
  dependsOn: string[] | null;
  /** Runs also where one of them did not succeed. */
  runsAnyway: boolean | null;
  /** Those that have not ended; null: it does not wait for them. */
  waitsFor: string[] | null;
}

/** Returns those of the ids that exist, in no order. */
export const readTasks = async (db: Queryable, ids: readonly string[]): Promise<TaskRow[]> => {
  const { rows } = await db.query<TaskRow>({
    name: 'read-tasks',
    text: `
select k.seq, k.id, h.name as handler, t.key as target, s.state, s.attempts, s.batch_id as "batchId",
  coalesce(b.state >= 4 /* ended */ and (o.seq is null or o.state = 5 /* failed */), false) as paged,
  k.created_at as "createdAt",
  coalesce(d.not_before, x.not_before) as "notBefore",
  case when s.state < 4 /* ended */ then coalesce(y.expires_at, y.at) end as "expiresAt",
  k.priority, k.version, k.trace, k.payload::text as payload,
  l.tags, l.metadata::text as metadata,
  o.result::text as "ownResult",
  case when o.seq is null then coalesce(b.error, d.error) else o.error end as error, case
    when s.state >= 4 /* ended */ then coalesce(o.at, b.finished_at) end as "finishedAt",
  n."dependsOn", n."runsAnyway",
  case when x.seq is not null then coalesce(n."waitsFor", '{}') end as "waitsFor"
from task_state s join task k on k.seq = s.seq join target t on t.id = k.target_id join handler h on h.id = t.handler_id
  left join outcome o on o.seq = k.seq left join delayed d on d.seq = k.seq left join batch b on b.id = s.batch_id
  left join task_label l on l.seq = k.seq left join expiry y on y.seq = k.seq
  left join held x on x.seq = k.seq left join lateral (
    select array_agg(y.needs_id order by y.place) as "dependsOn", bool_or(y.run) as "runsAnyway",
      array_agg(y.needs_id order by y.place) filter (where y.state is null) as "waitsFor"
    from task_dependency y
    where y.seq = k.seq) n on true
where s.id = any($1::text[])`,
    values: [ids],
  });
  return rows;
};

/**
 * Returns the bytes of JSON of tasks: `own` of their payloads and of results set by hand, `paged`
 * of all values of their batches, which is at least what their results have.
 */
export const readTaskBytes = async (db: Queryable, ids: readonly string[]): Promise<{ own: number; paged: number }> => {
  const { rows } = await db.query<{ own: number; paged: number }>({
    name: 'read-task-bytes',
    text: `
with w as materialized (
  select seq, batch_id
  from task_state
  where id = any($1::text[]))
select (
  select coalesce(sum(octet_length(k.payload::text) + coalesce(octet_length(o.result::text), 0)), 0)
  from w join task k on k.seq = w.seq left join outcome o on o.seq = w.seq)::float8 as own, (
  select coalesce(sum(octet_length(p.results::text)), 0)
  from result_page p
  where p.batch_id in (
    select batch_id
    from w))::float8 as paged`,
    values: [ids],
  });
  return rows[0]!;
};

/**
 * Returns values of members, found by their place in the batch, in the pages of its last attempt.
 * JSON text; a member without one is left out.
 */
export const readResults = async (
  db: Queryable,
  batchIds: readonly number[],
  seqs: readonly number[],
): Promise<Map<number, { result: string; note: string | null }>> => {
  const { rows } = await db.query<{ seq: number; result: string; note: string | null }>({
    // Unnamed, so that it is planned each time. The generic plan, made for one batch, joined every
    // value with every wanted task (100 times slower).
    text: `
with wanted as materialized (
  select b.id, b.attempt, u.place - 1 as place, u.seq
  from batch b cross join lateral unnest(b.members) with ordinality u (seq, place)
    join unnest($2::bigint[]) w (seq) on w.seq = u.seq
  where b.id = any($1::bigint[]))
select w.seq, (e.value->1)::text as result, e.value->>2 as note
from result_page p cross join lateral json_array_elements(p.results) e join wanted w on w.id = p.batch_id
    and w.attempt = p.attempt and w.place = (e.value->>0)::int
where p.batch_id = any($1::bigint[]) and exists (
  select from wanted w
  where w.id = p.batch_id and w.attempt = p.attempt and w.place between p.first and p.last)`,
    values: [batchIds, seqs],
  });
  return new Map(rows.map(({ seq, result, note }) => [seq, { result, note }]));
};

/**
 * Returns only the states, of many tasks: for a caller that waits. A task in a lane whose unknown
 * outcome is being resolved counts as in-progress: it has not ended.
 */
export const readTaskStates = async (
  db: Queryable,
  ids: readonly string[],
): Promise<{ id: string; state: number }[]> => {
  const { rows } = await db.query<{ id: string; state: number }>({
    name: 'read-task-states',
    text: `
select s.id,
  case when s.state = 3 /* unknown */ and exists (
    select from batch b
    where b.id = s.batch_id and b.state = 1 /* open */) then 2::smallint /* in-progress */ else s.state end as state
from task_state s
where s.id = any($1::text[])`,
    values: [ids],
  });
  return rows;
};
