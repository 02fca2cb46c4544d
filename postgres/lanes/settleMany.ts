import type { Client, Queryable } from '../pool';
import type { NewNotification, ResultPage } from '../calls/records';
import { pagesJson, WRITTEN_DOWN } from '../calls/records';

/** Settles many lane batches in one statement, where each is simply applied or accepted. */

/**
 * Settles batches whose members all succeeded: the batch is finished, its place in the lane
 * committed, and the lane marked ready. Guarded by (batch, attempt) as every settlement. Returns
 * the settled batches, with their lanes. Locks lane rows in id order, as a grant does.
 */
export const settleLanesSucceeded = async (
  client: Client,
  batches: readonly { id: number; attempt: number }[],
  pages: readonly ResultPage[],
  notifications: readonly NewNotification[],
): Promise<{ id: number; laneId: number; awaited: boolean }[]> => {
  const { rows } = await client.query<{ id: number; laneId: number; awaited: boolean }>({
    name: 'settle-lanes-succeeded',
    text: `
with done as (
  update batch b set state = 4 /* succeeded */, counted = least(b.attempt, b.counted + 1), attempt_until = null,
    dispatch = null, retry_at = null, poll_at = null, error = null, finished_at = clock()
  from json_to_recordset($1) g (id bigint, attempt int)
  where b.id = any($4::bigint[]) and b.id = g.id and b.attempt = g.attempt
    and b.state in (1 /* open */, 3 /* unknown */)
  returning b.id, b.attempt, b.awaited),
${WRITTEN_DOWN},
was as materialized (
  select s.batch_id, s.lane_id, s.status
  from lane_batch s
  where s.batch_id = any(array(select id from done)) and s.status < 10 /* open */ for no key update),
moved as (
  update lane_batch s set status = 10 /* committed */, not_before = null, changed_at = clock()
  from was w
  where s.batch_id = any($4::bigint[]) and s.batch_id = w.batch_id),
locked as materialized (
  select lane_id
  from lane_state
  where lane_id = any(array(select lane_id from was))
  order by lane_id for no key update),
lanes as (
  -- The batch that halted its lane may get a true answer late: nothing is left for an operator to decide.
  update lane_state l set ready = true, pending = l.pending - w.n,
    halted_by = case when l.halted_by = any(array(select id from done)) then null else l.halted_by end,
    halted_at = case when l.halted_by = any(array(select id from done)) then null else l.halted_at end,
    halt_reason = case when l.halted_by = any(array(select id from done)) then null else l.halt_reason end
  from (
    select lane_id, count(*) filter (where status in (3 /* submitted */, 4 /* pending */, 5 /* valid */))::int as n
    from was
    group by 1) w join locked using (lane_id)
  where l.lane_id = w.lane_id)
select d.id, w.lane_id as "laneId", d.awaited
from done d join was w on w.batch_id = d.id`,
    values: [JSON.stringify(batches), pagesJson(pages), JSON.stringify(notifications), batches.map(({ id }) => id)],
  });
  return rows;
};

/**
 * Marks lanes ready whose batches waited for these: they have ended, or were accepted by a
 * downstream that knows dependencies. A separate statement, after those batches were
 * locked: its snapshot sees the dependencies that were written meanwhile.
 */
export const readyAllDependents = async (client: Client, batchIds: readonly number[]): Promise<number[]> => {
  const { rows } = await client.query<{ laneId: number }>({
    name: 'ready-all-dependents',
    text: `
update lane_state l set ready = true
from (
  select lane_id
  from lane_state
  where lane_id = any(array(
      select s.lane_id
      from dependency d join lane_batch s on s.batch_id = d.batch_id
      where d.needs = any($1::bigint[]) and s.status < 10 /* open */))
  order by lane_id for no key update) x
where l.lane_id = x.lane_id
returning l.lane_id as "laneId"`,
    values: [batchIds],
  });
  return rows.map(({ laneId }) => laneId);
};

export interface AcceptedInLane {
  id: number;
  attempt: number;
  reference: string;
  every_ms: number;
  deadline_ms: number;
  /** Batches that depend on it may go now. */
  frees: boolean;
}

/**
 * Marks batches that the downstream accepted, and whose outcome it will report later, as pending.
 * That lets the next batch of the lane go only where the downstream keeps the order; other lanes
 * are not touched. Returns the batches written.
 */
export const acceptInLanes = async (db: Queryable, batches: readonly AcceptedInLane[]): Promise<Set<number>> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'accept-in-lanes',
    text: `
with done as (
  update batch b set reference = g.reference, poll_at = clock() + g.every_ms * interval '1 ms', read_at = null,
    poll_until = clock() + g.deadline_ms * interval '1 ms', attempt_until = null, dispatch = null, refusals = 0,
    error = null
  from json_to_recordset($1) g (id bigint, attempt int, reference text, every_ms float8, deadline_ms float8)
  where b.id = any($2::bigint[]) and b.id = g.id and b.attempt = g.attempt and b.state + 0 = 1
    and (b.attempt_until is not null or b.reference is not null)
  returning b.id),
was as materialized (
  select s.batch_id, s.lane_id, s.status
  from lane_batch s
  where s.batch_id = any(array(select id from done)) and s.status < 10 /* open */ for no key update),
moved as (
  update lane_batch s set status = 4 /* pending */, not_before = null, look_ups = 0, changed_at = clock()
  from was w
  where s.batch_id = any($2::bigint[]) and s.batch_id = w.batch_id),
counted as (
  select w.lane_id,
    count(*) filter (where w.status not in (3 /* submitted */, 4 /* pending */, 5 /* valid */))::int as n
  from was w join lane a on a.id = w.lane_id
  group by w.lane_id, a.kind
  having a.kind = 0 /* guaranteed */
    or count(*) filter (where w.status not in (3 /* submitted */, 4 /* pending */, 5 /* valid */)) > 0),
locked as materialized (
  select lane_id
  from lane_state
  where lane_id = any(array(select lane_id from counted))
  order by lane_id for no key update),
lanes as (
  update lane_state l set ready = true, pending = l.pending + c.n
  from counted c join locked using (lane_id)
  where l.lane_id = c.lane_id)
select id
from done`,
    values: [JSON.stringify(batches), batches.map(({ id }) => id)],
  });
  return new Set(rows.map(({ id }) => id));
};
