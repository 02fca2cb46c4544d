import type { Client, Queryable } from '../pool';

/**
 * Statements that write what an answer means for a lane. Each runs in the transaction that settles
 * the batch, after the batch's row was locked.
 */

export interface Moved {
  laneId: number;
  was: number;
  onInvalid: number;
}

/** What a change of status adds to: inconclusive look-ups, or deadlines passed while pending. */
export interface Troubles {
  lookUps?: number;
  overdue?: number;
}

/**
 * Sets the batch's new status in its lane and marks the lane ready. Returns null if the batch has
 * left its lane. `inMs`: how long the batch must wait. Look-ups are counted while the outcome is
 * unknown, passed deadlines while the batch is open.
 */
export const moveLaneBatch = async (
  db: Queryable,
  batchId: number,
  status: number,
  notBeforeMs: number | null = null,
  { lookUps = 0, overdue = 0 }: Troubles = {},
): Promise<Moved | null> => {
  const { rows } = await db.query<Moved>({
    name: 'move-lane-batch',
    text: `
with was as materialized (
  select batch_id, lane_id, status
  from lane_batch
  where batch_id = $1 and status < 10 /* open */ for no key update),
moved as (
  update lane_batch s set status = $2::smallint, resolving = false,
    not_before = clock() + $3::float8 * interval '1 ms', changed_at = clock(),
    look_ups = case when $2::smallint = 2 /* unknown */ then s.look_ups + $4::int else 0 end,
    overdue = s.overdue + $5::int
  from was w
  where s.batch_id = w.batch_id)
update lane_state l set ready = true,
  pending = l.pending - (w.status in (3 /* submitted */, 4 /* pending */, 5 /* valid */))::int
    + ($2::smallint in (3 /* submitted */, 4 /* pending */, 5 /* valid */))::int
from was w join lane n on n.id = w.lane_id
where l.lane_id = w.lane_id
returning l.lane_id as "laneId", w.status as was, n.on_invalid as "onInvalid"`,
    values: [batchId, status, notBeforeMs, lookUps, overdue],
  });
  return rows[0] ?? null;
};

/**
 * Marks a batch whose call ended without an outcome and is about to be looked up: until then its
 * lane sends nothing.
 */
export const markResolving = async (db: Queryable, batchId: number): Promise<void> => {
  await db.query({
    name: 'mark-resolving',
    text: 'update lane_batch set resolving = true where batch_id = $1 and status = 3 /* submitted */',
    values: [batchId],
  });
};

/**
 * Returns the number of inconclusive look-ups of a batch's unknown outcome, and the original error.
 */
export const readLookUps = async (
  db: Queryable,
  batchId: number,
): Promise<{ lookUps: number; error: string | null }> => {
  const { rows } = await db.query<{ lookUps: number; error: string | null }>({
    name: 'read-look-ups',
    text: `
select s.look_ups as "lookUps", b.error
from lane_batch s join batch b on b.id = s.batch_id
where s.batch_id = $1`,
    values: [batchId],
  });
  return rows[0] ?? { lookUps: 0, error: null };
};

/**
 * Keeps a batch unknown until its next look-up: meanwhile it is neither sent nor polled. False: a
 * newer attempt exists, or it has ended.
 */
export const postponeInLane = async (
  client: Client,
  look: { id: number; attempt: number; inMs: number; error: string },
): Promise<boolean> => {
  const { rowCount } = await client.query({
    name: 'postpone-in-lane',
    text: `
update batch set dispatch = null, retry_at = clock() + $3 * interval '1 ms', attempt_until = coalesce(attempt_until,
  clock()), poll_at = null, error = $4
where id = $1 and attempt = $2 and state = 1 /* open */`,
    values: [look.id, look.attempt, look.inMs, look.error],
  });
  return rowCount === 1;
};

/**
 * Ends the halt of a lane whose halting batch has ended after all (a true answer came late, or from
 * outside): nothing is left for an operator to decide.
 */
export const endHaltBy = async (db: Queryable, laneId: number, batchId: number): Promise<void> => {
  await db.query({
    name: 'end-halt-by',
    text: `
update lane_state set halted_by = null, halted_at = null, halt_reason = null, ready = true
where lane_id = $1 and halted_by = $2`,
    values: [laneId, batchId],
  });
};

/** Halts the lane until an operator decides: the lane sends nothing. Keeps the first reason. */
export const haltLane = async (db: Queryable, laneId: number, batchId: number, reason: string): Promise<void> => {
  await db.query({
    name: 'halt-lane',
    text: `
update lane_state set halted_by = $2, halted_at = clock(), halt_reason = $3
where lane_id = $1 and halted_by is null`,
    values: [laneId, batchId, reason],
  });
};

/**
 * Holds the lane after back pressure from the downstream: this service sends nothing until then;
 * other lanes are not affected.
 */
export const holdLane = async (db: Queryable, laneId: number, inMs: number): Promise<void> => {
  await db.query({
    name: 'hold-lane',
    text: `update lane_state set hold_until = greatest(hold_until, clock() + $2 * interval '1 ms') where lane_id = $1`,
    values: [laneId, inMs],
  });
};

/** Marks the lanes of batches that waited for this ended batch as ready, and returns them. */
export const readyDependents = async (db: Queryable, batchId: number): Promise<number[]> => {
  const { rows } = await db.query<{ laneId: number }>({
    name: 'ready-dependents',
    text: `
update lane_state l set ready = true
from (
  select lane_id
  from lane_state
  where lane_id in (
    select s.lane_id
    from dependency d join lane_batch s on s.batch_id = d.batch_id
    where d.needs = $1 and s.status < 10 /* open */)
  order by lane_id for no key update) x
where l.lane_id = x.lane_id
returning l.lane_id as "laneId"`,
    values: [batchId],
  });
  return rows.map(({ laneId }) => laneId);
};

/**
 * Puts a part of a batch into the lane: within its batch's range, so before everything later (its
 * sequence is that of its first task, counted from its batch's). The part reads and writes what the
 * batch did, and batches that depend on the batch depend on the part as well.
 */
export const insertPart = async (
  db: Queryable,
  part: { batchId: number; parentId: number; status: number; inMs: number | null },
): Promise<void> => {
  await db.query({
    name: 'insert-part',
    text: `
insert into lane_batch (
  batch_id, lane_id, target_id, handler_id, seq, status, not_before, changed_at, weight, reads, writes)
select c.id, s.lane_id, s.target_id, s.handler_id, s.seq + array_position(p.members, c.members[1]) - 1, $3::smallint,
  clock() + $4::float8 * interval '1 ms', clock(), least(10000, greatest(1, round(c.weight)))::int, s.reads, s.writes
from lane_batch s join batch p on p.id = s.batch_id join batch c on c.id = $1
where s.batch_id = $2`,
    values: [part.batchId, part.parentId, part.status, part.inMs],
  });
  await db.query({
    name: 'depend-on-part',
    text: `
insert into dependency (batch_id, needs, handed)
select d.batch_id, $1, d.handed
from dependency d join lane_batch s on s.batch_id = d.batch_id
where d.needs = $2 and s.status < 10 /* open */
union all select $1, d.needs, false
from dependency d
where d.batch_id = $2
on conflict do nothing`,
    values: [part.batchId, part.parentId],
  });
};

/**
 * Removes a batch whose members were all split off. Insert the parts first, so that dependents wait
 * for them.
 */
export const deleteLaneBatch = async (db: Queryable, batchId: number): Promise<void> => {
  await db.query({
    name: 'delete-lane-batch',
    text: `
with gone as (delete from lane_batch where batch_id = $1 returning lane_id, status)
update lane_state l set ready = true,
  pending = l.pending - (g.status in (3 /* submitted */, 4 /* pending */, 5 /* valid */))::int
from gone g
where l.lane_id = g.lane_id`,
    values: [batchId],
  });
};

/** A batch that failed without being sent. */
export interface UnsentBatch {
  handler: string;
  tasks: number;
}

/**
 * Fails a batch without sending it, because a batch that it depends on was not applied. Its own
 * dependents are checked next. Null: it had ended.
 */
export const failDependents = async (client: Client, batchId: number, on: number): Promise<UnsentBatch | null> => {
  const error = `not sent: batch ${on}, on which it depends, was not applied`;
  const { rows } = await client.query<UnsentBatch>({
    name: 'fail-dependent',
    text: `
with over as (
  update lane_batch set status = 13 /* failed-dependency */, changed_at = clock()
  where batch_id = $1 and status in (0 /* unsubmitted */, 1 /* delayed */)
  returning batch_id),
failed as (
  update batch b set state = 5 /* failed */, dispatch = null, retry_at = null, error = $2, finished_at = clock()
  from over o
  where b.id = o.batch_id and b.state = 1 /* open */
  returning b.id, b.target_id, b.members),
told as (
  insert into notification (batch_id, attempt, recipient_id, body, next_at)
  select f.id, null, k.recipient_id, jsonb_build_object('handler', h.name, 'target', t.key, 'batch', f.id, 'tasks',
    jsonb_agg(jsonb_build_object('id', k.id, 'state', 'failed', 'error', $2::text) order by k.seq)), clock()
  from failed f join target t on t.id = f.target_id join handler h on h.id = t.handler_id
    cross join lateral unnest(f.members) u (seq) join task k on k.seq = u.seq
  where k.recipient_id is not null
  group by f.id, k.recipient_id, h.name, t.key)
select h.name as handler, cardinality(f.members) as tasks
from failed f join target t on t.id = f.target_id join handler h on h.id = t.handler_id`,
    values: [batchId, error],
  });
  await readyDependents(client, batchId);
  return rows[0] ?? null;
};
