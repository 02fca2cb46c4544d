import type { UnusedMark } from '../calls/mark';
import type { Client, Queryable } from '../pool';
import { MOVED_BACK } from './submitter';

/** Statements that return batches of dead submitters to their lanes. */

/**
 * Removes submitters that the workflow does not know, or that gave no sign of life for the length
 * of their lease, and returns their batches to their lanes: one whose call was marked is unknown
 * (no submitter takes it up before that call's deadline; its true answer still counts), any other
 * is as it was. This is also how a new run takes over from a dead one. Returns the slots that live
 * submitters hold.
 */
export const recoverSubmitters = async (client: Client, queuerId: number, live: readonly number[]): Promise<number> => {
  const { rows: gone } = await client.query<{ no: number }>({
    name: 'forget-submitters',
    text: `
delete from submitter
where queuer_id = $1 and (no <> all($2::bigint[]) or expires_at <= clock())
returning no`,
    values: [queuerId, live],
  });
  if (gone.length > 0)
    await recoverBatches(
      client,
      gone.map(({ no }) => no),
    );
  const { rows } = await client.query<{ slots: number }>({
    name: 'slots-taken',
    text: 'select coalesce(sum(slots), 0)::int as slots from submitter where queuer_id = $1',
    values: [queuerId],
  });
  return rows[0]!.slots;
};

/**
 * Recovers only from submitters whose lease has passed: for a submitter that makes its own grant,
 * which does not know which others are live.
 */
export const recoverExpired = async (client: Client, queuerId: number): Promise<void> => {
  const { rows: gone } = await client.query<{ no: number }>({
    name: 'forget-expired-submitters',
    text: 'delete from submitter where queuer_id = $1 and expires_at <= clock() returning no',
    values: [queuerId],
  });
  if (gone.length > 0)
    await recoverBatches(
      client,
      gone.map(({ no }) => no),
    );
};

export const recoverBatches = async (client: Queryable, submitters: readonly number[]): Promise<number[]> => {
  const { rows } = await client.query<{ laneId: number }>({
    name: 'recover-batches',
    text: `
with back as (
  update batch b set dispatch = null
  from lane_batch g
  where g.submitter = any($1::bigint[]) and g.status = 3 /* submitted */ and b.id = g.batch_id
    and b.state = 1 /* open */ and b.dispatch = g.submitter
  returning b.id, b.attempt_until, b.unsure),
${MOVED_BACK}
update lane_state l set ready = true, pending = l.pending - m.n
from (select lane_id, count(*)::int as n from moved group by 1) m
where l.lane_id = m.lane_id
returning l.lane_id as "laneId"`,
    values: [submitters],
  });
  return rows.map(({ laneId }) => laneId);
};

/**
 * Takes back marks of this node whose calls were not made, of batches that were recovered from
 * their submitter meanwhile: an outage outlasts its lease. They are unsubmitted again, no longer
 * unknown. `dispatch`: that submitter, which was the last to hold the batch; another one may have
 * marked an attempt of the same number for this node. Returns in how many lanes there were any.
 */
export const unmarkRecovered = async (db: Queryable, marks: readonly UnusedMark[], node: string): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'unmark-recovered',
    text: `
with back as (
  update batch b set attempt_until = null
  from unnest($1::bigint[], $2::int[], $4::bigint[]) m (id, attempt, submitter), lane_batch g
  where b.id = any($1::bigint[]) and b.id = m.id and b.attempt = m.attempt and b.attempt_by = $3
    and b.state = 1 /* open */ and b.dispatch is null and b.attempt_until is not null
    and g.batch_id = b.id and g.status = 2 /* unknown */ and g.submitter = m.submitter
  returning b.id, b.unsure),
moved as (
  update lane_batch s set status = case when b.unsure then 2 /* unknown */ else 0 /* unsubmitted */ end,
    not_before = null, changed_at = clock()
  from back b
  where s.batch_id = b.id and s.status = 2 /* unknown */
  returning s.lane_id)
update lane_state l set ready = true
from moved m
where l.lane_id = m.lane_id`,
    values: [
      marks.map(({ id }) => id),
      marks.map(({ attempt }) => attempt),
      node,
      marks.map(({ dispatch }) => dispatch),
    ],
  });
  return rowCount ?? 0;
};
