import type { Client, Queryable } from '../pool';
import type { NewNotification, ResultPage } from './records';
import { pagesJson, WRITTEN_DOWN } from './records';

/**
 * Statements that write the outcome of a call. Each is guarded only by (batch, attempt): a genuine
 * answer counts even if its leader was deposed, unless a newer attempt exists.
 */

/**
 * Settles many batches whose members all succeeded, in one statement. Returns the batches that were
 * still waiting for this attempt; true: tasks waited for members of it. Locks them in id order, as
 * a submit of dependents does.
 */
export const settleSucceeded = async (
  db: Queryable,
  batches: readonly { id: number; attempt: number; counts: boolean; keyed?: boolean }[],
  pages: readonly ResultPage[],
  notifications: readonly NewNotification[],
): Promise<Map<number, boolean>> => {
  const sorted = [...batches].sort((a, b) => a.id - b.id);
  const { rows } = await db.query<{ id: number; awaited: boolean }>({
    name: 'settle-succeeded',
    text: `
with done as (
  update batch b set state = 4 /* succeeded */, counted = least(b.attempt, b.counted + g.counts::int),
    attempt_until = null, dispatch = null, retry_at = null, poll_at = null, error = null, finished_at = clock()
  from json_to_recordset($1) g (id bigint, attempt int, counts bool)
  where b.id = any($4::bigint[]) and b.id = g.id and b.attempt = g.attempt
    and b.state in (1 /* open */, 3 /* unknown */)
  returning b.id, b.attempt, b.awaited),
${WRITTEN_DOWN},
freed as (
  delete from busy_key
  where seq = any(array(
    select m.seq
    from json_to_recordset($1) g (id bigint, keyed bool) join done d on d.id = g.id join batch b on b.id = d.id
      cross join lateral unnest(b.members) u (seq) join member m on m.seq = u.seq and m.batch_id = b.id
    where g.keyed)))
select id, awaited
from done`,
    // Passes the ids again, as an array: a plan made on a small table for a join with only the
    // recordset would read the whole table ever after.
    values: [JSON.stringify(sorted), pagesJson(pages), JSON.stringify(notifications), sorted.map(({ id }) => id)],
  });
  return new Map(rows.map(({ id, awaited }) => [id, awaited]));
};

export interface GuardedBatch {
  state: number;
  /**
   * True if this attempt's outcome was already written (as unknown, when the batch was adopted):
   * only its genuine answer may still be added.
   */
  concluded: boolean;
  /** The reference under which the downstream accepted the batch. */
  reference: string | null;
  leaderId: number;
  targetId: number;
  counted: number;
  depth: number;
  parentId: number | null;
  members: number[];
}

/** Locks a batch for any other settlement; null: a newer attempt exists or the batch has ended. */
export const lockAttempt = async (client: Client, id: number, attempt: number): Promise<GuardedBatch | null> => {
  const { rows } = await client.query<GuardedBatch>({
    name: 'lock-attempt',
    text: `
select state, attempt_until is null and reference is null as concluded, reference, leader_id as "leaderId",
  target_id as "targetId", counted, depth, parent_id as "parentId", members
from batch
where id = $1 and attempt = $2 and state in (1 /* open */, 3 /* unknown */) for no key update`,
    values: [id, attempt],
  });
  return rows[0] ?? null;
};

/**
 * Ends a batch whose remaining members share `state`; members with a different end have left by
 * then.
 */
export const finishBatch = async (
  client: Client,
  id: number,
  state: number,
  counts: boolean,
  left: number,
  error: string | null,
): Promise<void> => {
  await client.query({
    name: 'finish-batch',
    text: `
update batch set state = case when n_left + $4 = n then 7 /* dissolved */ else $2 end,
  counted = least(attempt, counted + $3::int), n_left = n_left + $4, attempt_until = null, dispatch = null,
  retry_at = null, poll_at = null, error = $5, finished_at = clock()
where id = $1`,
    values: [id, state, counts ? 1 : 0, left, error],
  });
};

/**
 * Writes the members whose end differs from their batch's: failed, dead, cancelled, or succeeded by
 * hand. They leave the batch.
 */
export const insertOutcomes = async (
  client: Client,
  batchId: number | null,
  outcomes: readonly { seq: number; state: number; attempts: number; error: string | null; result?: unknown }[],
): Promise<void> => {
  await client.query({
    name: 'insert-outcomes',
    text: `
with ended as (
  select o.*
  from json_to_recordset($2) o (seq bigint, state smallint, attempts smallint, error text, result json)),
gone as (delete from member where seq = any($3::bigint[])),
freed as (delete from busy_key where seq = any($3::bigint[]))
insert into outcome (seq, target_id, state, attempts, batch_id, result, error, at)
select e.seq, t.target_id, e.state, e.attempts, $1, e.result, e.error, clock()
from ended e join task t using (seq)
where t.seq = any($3::bigint[])`,
    values: [batchId, JSON.stringify(outcomes), outcomes.map(({ seq }) => seq)],
  });
};

/**
 * Puts members back into the queue after their backoff, with their attempts and last error. They
 * keep their distinctBy keys.
 */
export const delayMembers = async (
  client: Client,
  members: readonly { seq: number; attempts: number; in_ms: number; error: string }[],
): Promise<void> => {
  await client.query({
    name: 'delay-members',
    text: `
with back as (select * from json_to_recordset($1) b (seq bigint, attempts smallint, in_ms float8, error text)),
gone as (delete from member where seq = any($2::bigint[]))
insert into delayed (target_id, priority, seq, not_before, bytes, attempts, weight, key, error, failed_at)
select target_id, priority, seq, clock() + in_ms * interval '1 ms', bytes, attempts, weight, key, error, clock()
from back b join task t using (seq)
where t.seq = any($2::bigint[])`,
    values: [JSON.stringify(members), members.map(({ seq }) => seq)],
  });
};

/**
 * Puts the whole batch back into the queue as if it had not been formed: its members are created
 * again in their old order, and `counts` says whether the attempt counts.
 */
export const dissolveBatch = async (client: Client, id: number, counts: boolean, error: string): Promise<void> => {
  await client.query({
    name: 'dissolve-batch',
    text: `
with over as (
  update batch set state = 7 /* dissolved */, n_left = n, counted = least(attempt, counted + $2::int),
    attempt_until = null, dispatch = null, retry_at = null, poll_at = null, refused = false, error = $3,
    finished_at = clock()
  where id = $1
  returning id, counted, members),
gone as (
  delete from member m using (
    select o.id, o.counted, u.seq
    from over o cross join lateral unnest(o.members) u (seq)) x
  where m.seq = x.seq and m.batch_id = x.id
  returning m.seq, m.attempts + x.counted as attempts)
insert into queue (target_id, priority, seq, ready_at, bytes, attempts, weight, key)
select t.target_id, t.priority, t.seq, t.created_at, t.bytes, g.attempts, t.weight, t.key
from gone g join task t using (seq)`,
    values: [id, counts ? 1 : 0, error],
  });
};

export interface ChildBatch {
  members: number[];
  state: number;
  reason: number;
  /** Leaves one attempt open: the next dispatch reconciles it, as of unknown outcome. */
  unconcluded: boolean;
  depth: number;
  error: string | null;
  /** The parent's last call cost its members no attempt. Default: one. */
  counts?: false | undefined;
  /** Earliest time to send it, in ms from now; default: when its turn comes. */
  inMs?: number | undefined;
}

/**
 * Makes a batch from a part of another: the half of a bisect, or the members whose outcome is
 * unknown.
 */
export const insertChild = async (client: Client, parentId: number, child: ChildBatch): Promise<number> => {
  const { rows } = await client.query<{ id: number }>({
    name: 'insert-child',
    text: `
with part as (
  select p.*, (select coalesce(sum(t.bytes), 0) from task t where t.seq = any($2::bigint[])) as part_bytes,
    (select coalesce(sum(coalesce(t.weight, 1)), 0) from task t where t.seq = any($2::bigint[])) as part_weight
  from batch p
  where p.id = $1),
formed as (
  insert into batch (
    target_id, leader_id, epoch, turn, state, reason, attempt, attempt_until, parent_id, sent_as, depth, n, members,
    bytes, weight, error, created_at, started_at, called_at, retry_at)
  select target_id, leader_id, epoch, turn, $3::smallint, $4::smallint, case when $5::bool then 1 else 0 end,
    case when $5::bool then clock() end, id, case when $4::smallint = 8 /* split */ then coalesce(sent_as, id) end,
    $6::smallint, cardinality($2::bigint[]), $2, part_bytes, part_weight, $7, clock(),
    case when $4::smallint = 8 /* split */ then started_at end, case when $4::smallint = 8 /* split */ then called_at end,
    clock() + $8::float8 * interval '1 ms'
  from part
  returning id)
select id
from formed`,
    values: [
      parentId,
      child.members,
      child.state,
      child.reason,
      child.unconcluded,
      child.depth,
      child.error,
      child.inMs ?? null,
    ],
  });
  const id = rows[0]!.id;
  await client.query({
    name: 'move-members',
    text: `
update member m set batch_id = $2, attempts = m.attempts + p.counted + $4::smallint
from batch p
where p.id = $1 and m.batch_id = $1 and m.seq = any($3::bigint[])`,
    values: [parentId, id, child.members, child.counts === false ? 0 : 1],
  });
  return id;
};

/**
 * Sends the same batch later: after a refusal for now (not counted), or again after an unknown
 * outcome (counted).
 */
export const deferBatch = async (
  db: Queryable,
  id: number,
  attempt: number,
  defer: { inMs: number; refused: boolean; counts: boolean; keep: boolean; error: string },
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'defer-batch',
    text: `
update batch set attempt_until = null, retry_at = clock() + $3 * interval '1 ms', refusals = case
  when $4 then least(refusals + 1, 32767) else 0 end,
  counted = least(attempt, counted + $5::int), unsure = unsure or $5::int = 1, dispatch = case
    when $6 then dispatch end, reference = null, poll_at = null, error = $7
where id = $1 and attempt = $2 and state = 1 /* open */`,
    values: [id, attempt, defer.inMs, defer.refused, defer.counts ? 1 : 0, defer.keep, defer.error],
  });
  return rowCount === 1;
};

/** Marks a batch that the downstream accepted and whose outcome it will report later. */
export const acceptBatch = async (
  db: Queryable,
  id: number,
  attempt: number,
  accepted: { reference: string; everyMs: number; deadlineMs: number },
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'accept-batch',
    text: `
update batch set reference = $3, poll_at = clock() + $4 * interval '1 ms', read_at = null,
  poll_until = clock() + $5 * interval '1 ms', attempt_until = null, dispatch = null, refusals = 0, error = null
where id = $1 and attempt = $2 and state = 1 /* open */`,
    values: [id, attempt, accepted.reference, accepted.everyMs, accepted.deadlineMs],
  });
  return rowCount === 1;
};

/**
 * Parks a batch of unknown outcome that must not be sent again automatically: it stays visible and
 * waits for `resolve`.
 */
export const parkBatch = async (
  db: Queryable,
  id: number,
  attempt: number,
  counts: boolean,
  error: string,
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'park-batch',
    text: `
update batch set state = 3 /* unknown */, counted = least(attempt, counted + $3::int), attempt_until = null,
  dispatch = null, retry_at = null, poll_at = null, error = $4
where id = $1 and attempt = $2 and state = 1 /* open */`,
    values: [id, attempt, counts ? 1 : 0, error],
  });
  return rowCount === 1;
};
