import type { RateLimit } from '../../workflows/planning/limits/limits';
import type { Queryable } from '../pool';
import type { HeadTask } from './queueHead';
import { HAS_ROOM } from './room';

/**
 * The statements of one claim, in their order; `activities/grouping/claim.ts` runs them in one
 * transaction under the leader's lock.
 */

/**
 * Takes back batches whose dispatch the workflow does not know; returns their targets, for the
 * ring. A batch whose call was marked waits until that call's deadline: before it no dispatch takes
 * the next attempt, so that two calls of one batch never overlap.
 */
export const adoptOrphans = async (db: Queryable, leaderId: number, live: readonly number[]): Promise<number[]> => {
  const { rows } = await db.query<{ targetId: number }>({
    name: 'adopt-orphans',
    text: `
with back as (
  update batch set dispatch = null, retry_at = greatest(retry_at, attempt_until)
  where leader_id = $1 and state = 1 /* open */ and dispatch is not null and dispatch <> all($2::bigint[])
  returning target_id, retry_at)
update target t set due_at = greatest(t.hold_until, least(t.due_at, b.at))
from (select target_id, min(coalesce(retry_at, clock())) as at from back group by 1) b
where t.id = b.target_id
returning t.id as "targetId"`,
    values: [leaderId, live],
  });
  return rows.map((row) => row.targetId);
};

/**
 * Lets targets of this leader take part again whose calls in flight fell below the limit. Returns
 * those that may be due.
 */
export const releaseBusyTargets = async (db: Queryable, leaderId: number): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'release-busy-targets',
    text: `
update target t set busy = false, due_at = least(t.due_at, clock())
from handler h
where t.leader_id = $1 and t.busy and h.id = t.handler_id and ${HAS_ROOM}
returning t.id`,
    values: [leaderId],
  });
  return rows.map((row) => row.id);
};

/** Holds for an open batch that waits in the store for a later time. */
const WAITS_FOR_LATER = 'dispatch is null and reference is null and not refused and retry_at > clock()';

export interface DueTarget {
  id: number;
  dueAtMs: number;
  overrides: { lingerMs?: number; quietPeriodMs?: number; maxItems?: number; minItems?: number } | null;
  flushSeq: number | null;
  paces: number[];
  allowed: number | null;
  /** Limits that were set for it at run time; null: the handler's count. */
  perTarget: number | null;
  weightPerTarget: number | null;
  rates: RateLimit[] | null;
  holdMs: number | null;
  /** Batches of the target that dispatches carry. */
  inFlight: number;
  /** Weight of the target's open batches. */
  weight: number;
  /** Of those of them that wait in the store for a later time, and when the first may go. */
  later: { weight: number; fromMs: number } | null;
}

/**
 * Locks the targets that are due, oldest due first (or some would starve): a cancel or a flush of
 * one waits for the claim. Locks are taken in id order, as everywhere: two statements that lock
 * many targets in different orders would deadlock.
 */
export const lockDueTargets = async (db: Queryable, leaderId: number, limit: number): Promise<DueTarget[]> => {
  const { rows } = await db.query<DueTarget>({
    name: 'lock-due-targets',
    text: `
with due as materialized (
  select t.id
  from target t
  where t.leader_id = $1 and t.due_at <= clock() and not t.paused and not t.busy
  order by t.due_at limit $2)
select t.id, (extract(epoch from t.due_at) * 1000)::float8 as "dueAtMs", t.overrides, t.flush_seq as "flushSeq",
  t.paces, t.allowed, t.per_target as "perTarget", t.weight_per_target as "weightPerTarget", t.rates,
  case when t.hold_until > clock() then (extract(epoch from t.hold_until) * 1000)::float8 end as "holdMs",
  b.n as "inFlight", b.weight, b.later
from target t cross join lateral (
  select count(*) filter (where dispatch is not null)::int n, coalesce(sum(weight), 0)::float8 weight,
    case when count(*) filter (where ${WAITS_FOR_LATER}) > 0 then json_build_object(
      'weight', sum(weight) filter (where ${WAITS_FOR_LATER}),
      'fromMs', (extract(epoch from min(retry_at) filter (where ${WAITS_FOR_LATER})) * 1000)::float8) end later
  from batch b
  where b.target_id = t.id and b.state = 1 /* open */) b
where t.id = any(array(select id from due)) and t.due_at <= clock() and not t.paused and not t.busy
order by t.id for no key update of t`,
    values: [leaderId, limit],
  });
  return rows.sort((a, b) => a.dueAtMs - b.dueAtMs);
};

export interface WaitingBatch {
  id: number;
  targetId: number;
  n: number;
  weight: number;
}

/**
 * Returns open batches that wait in the store and may go now: handed back, retried, halves of a
 * split. They go before new ones.
 */
export const findReadyBatches = async (
  db: Queryable,
  targetIds: readonly number[],
  limit: number,
): Promise<WaitingBatch[]> => {
  const { rows } = await db.query<WaitingBatch>({
    name: 'find-ready-batches',
    text: `
select id, target_id as "targetId", n, weight
from batch
where target_id = any($1::int[]) and state = 1 /* open */ and leader_id <> 0 and dispatch is null
  and reference is null and not refused and (retry_at is null or retry_at <= clock())
order by id limit $2`,
    values: [targetIds, limit],
  });
  return rows;
};

export interface NewBatch {
  targetId: number;
  reason: number;
  seqs: readonly number[];
  /** Those of `seqs`, in that order. */
  tasks: readonly HeadTask[];
  bytes: number;
  weight: number;
  /** Unix ms at which a paced batch may start; null: at once. */
  startAtMs: number | null;
}

/** Keeps the check sum of a claim's tasks among whole numbers that are exact in JavaScript. */
const SUM_MODULO = 1_000_003;

/**
 * Deletes the queue rows and inserts batch and member rows: one statement, so that a task is in
 * exactly one place. Throws if a task was not in the queue. The queue rows are addressed where the
 * claim has just read them, by nothing but a list of places: looked up by the index, a plan made on
 * a small table would read the whole queue for each batch. A check sum shows that they are these.
 */
export const insertBatches = async (
  db: Queryable,
  by: { leaderId: number; epoch: number; turn: number; dispatch: number; keyed: boolean },
  batches: readonly NewBatch[],
): Promise<void> => {
  const tasks = batches.flatMap((batch) => batch.tasks);
  const { rows } = await db.query<{ moved: number; sum: number }>({
    name: 'insert-batches',
    text: `
with cut as materialized (
  select nextval('batch_id_seq') as id, x.*
  from json_to_recordset($1) x (
    target_id int, reason smallint, seqs bigint[], attempts smallint[], bytes bigint, weight float8,
    start_at_ms float8)),
formed as (
  insert into batch (
    id, target_id, leader_id, epoch, turn, dispatch, reason, n, members, fresh, bytes,
    weight, created_at, retry_at) overriding system value
  select id, target_id, $2, $3, $4, $5, reason, cardinality(seqs), seqs, attempts is null, bytes, weight, clock(),
    to_timestamp(start_at_ms / 1000)
  from cut),
taken as (
  delete from queue
  where ctid = any($7::text::tid[])
  returning seq, target_id, key),
joined as (
  insert into member (seq, batch_id, attempts)
  select u.seq, c.id, coalesce(c.attempts[u.place], 0)
  from cut c cross join lateral unnest(c.seqs) with ordinality u (seq, place)),
held as (
  insert into busy_key (target_id, key, seq)
  select target_id, key, seq
  from taken
  where $6 and key is not null
  on conflict (target_id, key) do update set seq = excluded.seq
  where busy_key.seq = excluded.seq)
select count(*) as moved, coalesce(sum(seq % $8), 0)::int8 as sum
from taken`,
    values: [
      JSON.stringify(batches.map(toRecord)),
      by.leaderId,
      by.epoch,
      by.turn,
      by.dispatch,
      by.keyed,
      // An array literal: the driver would build its own element by element.
      tasks.length === 0 ? '{}' : `{"${tasks.map((task) => task.place).join('","')}"}`,
      SUM_MODULO,
    ],
  });
  const { moved, sum } = rows[0]!;
  const wanted = tasks.reduce((all, { seq }) => all + (seq % SUM_MODULO), 0);
  if (moved !== tasks.length || sum !== wanted)
    throw new Error(
      `claim: expected to move ${tasks.length} tasks (sum ${wanted}), moved ${moved} (${sum}); rolled back`,
    );
};

const toRecord = ({ targetId, tasks, startAtMs, ...batch }: NewBatch): object => ({
  ...batch,
  target_id: targetId,
  // Null: none of them was tried before.
  attempts: tasks.every((task) => task.attempts === 0) ? null : tasks.map((task) => task.attempts),
  start_at_ms: startAtMs,
});

/** Gives waiting batches to this dispatch. */
export const takeBatches = async (db: Queryable, ids: readonly number[], dispatch: number): Promise<void> => {
  await db.query({
    name: 'take-batches',
    text: 'update batch set dispatch = $2 where id = any($1::bigint[])',
    values: [ids, dispatch],
  });
};

export interface TargetPlan {
  id: number;
  due_at_ms: number | null;
  busy: boolean;
  paces: number[] | null;
  /** Rate limit of the target: nothing is sent before it (Unix ms). */
  hold_ms: number | null;
}

/**
 * Writes what the plan leaves of each target: when it is due next, counting delayed tasks and
 * waiting batches too.
 */
export const updateTargets = async (db: Queryable, plans: readonly TargetPlan[]): Promise<void> => {
  await db.query({
    name: 'update-targets',
    text: `
update target t set busy = p.busy, paces = coalesce(p.paces, t.paces),
  hold_until = greatest(t.hold_until, to_timestamp(p.hold_ms / 1000)), due_at = case when not p.busy then (
    select greatest(t.hold_until, to_timestamp(p.hold_ms / 1000), x.at)
    from (
      select least(to_timestamp(p.due_at_ms / 1000),
        (select d.not_before from delayed d where d.target_id = t.id order by d.not_before limit 1),
        (select min(coalesce(b.retry_at, b.created_at))
         from batch b
         where b.target_id = t.id and b.state = 1 /* open */ and b.leader_id <> 0 and b.dispatch is null
           and b.reference is null and not b.refused)) as at) x
    where x.at is not null) end
from json_to_recordset($1) p (id int, due_at_ms float8, busy bool, paces float8[], hold_ms float8)
where t.id = any($2::int[]) and t.id = p.id`,
    values: [JSON.stringify(plans), plans.map(({ id }) => id)],
  });
};

/**
 * Writes the handler's rate limit after this claim: when the next unit may start, and (if all was
 * claimed ahead) when to look again.
 */
export const updateHandlerPaces = async (db: Queryable, handlerId: number, paces: readonly number[]): Promise<void> => {
  await db.query({
    name: 'update-handler-paces',
    text: 'update handler set paces = $2 where id = $1',
    values: [handlerId, paces],
  });
};

/**
 * Returns when the leader has to look next (Unix ms; null: never), and whether any of its batches
 * is in a call or waits for one.
 */
export const readNextDue = async (
  db: Queryable,
  leaderId: number,
): Promise<{ dueAtMs: number | null; open: boolean }> => {
  const { rows } = await db.query<{ dueAtMs: number | null; open: boolean }>({
    name: 'read-next-due',
    text: `
select (
  select (extract(epoch from t.due_at) * 1000)::float8
  from target t
  where t.leader_id = $1 and t.due_at is not null and not t.paused and not t.busy
  order by t.due_at limit 1) as "dueAtMs",
  exists (select from batch b where b.leader_id = $1 and b.state = 1 /* open */ and b.dispatch is not null) as open`,
    values: [leaderId],
  });
  return rows[0]!;
};
