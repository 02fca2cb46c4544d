import type { Client, Queryable } from '../pool';

/**
 * Statements for an operator's settings of lanes. None of them rings: the caller does, after the
 * commit.
 */

/**
 * Pauses every lane, or that of one service; returns those that exist. Pausing again keeps the
 * first time and takes the new reason.
 */
export const pauseLanes = async (db: Queryable, service: string, reason: string): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'pause-lanes',
    text: `
update lane_state s set paused_at = coalesce(s.paused_at, clock()), pause_reason = $2
from lane l
where l.id = s.lane_id and l.service = $1
returning l.id`,
    values: [service, reason],
  });
  return rows.map(({ id }) => id);
};

/** Resumes a lane, and ends its hold. */
export const resumeLane = async (db: Queryable, service: string): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'resume-lane',
    text: `
update lane_state s set paused_at = null, pause_reason = null, hold_until = null, ready = true
from lane l
where l.id = s.lane_id and l.service = $1
returning l.id`,
    values: [service],
  });
  return rows.map(({ id }) => id);
};

/** Pauses all queuers: no grant for any lane. A null reason resumes them. Returns the queuers. */
export const setQueuersPaused = async (db: Queryable, reason: string | null): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'set-queuers-paused',
    text: `
update queuer set paused_at = case when $1::text is not null then coalesce(paused_at, clock()) end, pause_reason = $1
returning id`,
    values: [reason],
  });
  return rows.map(({ id }) => id);
};

/** Sets a lane's weight, from the next grant on. */
export const setLaneWeight = async (db: Queryable, service: string, weight: number): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'set-lane-weight',
    text: 'update lane_state s set weight = $2 from lane l where l.id = s.lane_id and l.service = $1 returning l.id',
    values: [service, weight],
  });
  return rows.map(({ id }) => id);
};

/** Sets how a queuer grants; null leaves a setting as it is. */
export const setQueuer = async (
  db: Queryable,
  settings: { slots: number | null; strategy: number | null; depth: number | null },
): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'set-queuer',
    text: `
update queuer set slots = coalesce($1::int, slots), strategy = coalesce($2::smallint, strategy),
  depth = coalesce($3::int, depth)
returning id`,
    values: [settings.slots, settings.strategy, settings.depth],
  });
  return rows.map(({ id }) => id);
};

export interface HaltedLane {
  laneId: number;
  haltedBy: number | null;
  reason: string | null;
  /**
   * Status of the batch that halted the lane; null: the batch was deleted after its retention
   * period.
   */
  status: number | null;
  seq: number | null;
  targetId: number | null;
  /** Its key. */
  target: string | null;
  handler: string | null;
  reads: string[] | null;
  writes: string[] | null;
}

/**
 * Returns the lane with the batch that halts it, both locked: batch first, as in a settlement.
 * Null: there is no such lane.
 */
export const lockHalted = async (client: Client, service: string): Promise<HaltedLane | null> => {
  const values = [service];
  await client.query({
    name: 'lock-halting-batch',
    text: `
select from batch b
where b.id = (
  select s.halted_by
  from lane_state s join lane l on l.id = s.lane_id
  where l.service = $1) for no key update`,
    values,
  });
  const { rows } = await client.query<HaltedLane>({
    name: 'lock-halted',
    text: `
select l.id as "laneId", s.halted_by as "haltedBy", s.halt_reason as reason, n.status, n.seq,
  n.target_id as "targetId", t.key as target, h.name as handler, n.reads, n.writes
from lane l join lane_state s on s.lane_id = l.id left join lane_batch n on n.batch_id = s.halted_by
  left join target t on t.id = n.target_id left join handler h on h.id = n.handler_id
where l.service = $1 for no key update of s`,
    values,
  });
  return rows[0] ?? null;
};

/** Ends a lane's halt. */
export const unhaltLane = async (client: Client, laneId: number): Promise<void> => {
  await client.query({
    name: 'unhalt-lane',
    text: `
update lane_state set halted_by = null, halted_at = null, halt_reason = null, ready = true
where lane_id = $1`,
    values: [laneId],
  });
};

/**
 * Reopens a parked batch for an operator who accepts that it may have been applied: it is sent
 * again under the same key, at its place, with all its members.
 */
export const reopenParked = async (client: Client, batchId: number): Promise<void> => {
  await client.query({
    name: 'reopen-parked',
    text: `
update batch set state = 1 /* open */, attempt = attempt + 1, attempt_by = 'fix', attempt_until = null,
  dispatch = null, retry_at = null, reference = null, poll_at = null, unsure = true
where id = $1 and state = 3 /* unknown */`,
    values: [batchId],
  });
};

/**
 * Returns the lane in which some tasks, or a batch, are open; null: none is. Their outcome is
 * decided there (`lane fix`, `lane skip`).
 */
export const laneOfParked = async (
  db: Queryable,
  ids: readonly string[] | null,
  batchId: number | null,
): Promise<string | null> => {
  const { rows } = await db.query<{ service: string }>({
    name: 'lane-of-parked',
    text: `
select l.service
from lane_batch s join lane l on l.id = s.lane_id
where s.status < 10 /* open */ and s.batch_id in (
  select m.batch_id
  from task k join member m on m.seq = k.seq
  where k.id = any($1::text[])
  union all select $2::bigint) limit 1`,
    values: [ids ?? [], batchId],
  });
  return rows[0]?.service ?? null;
};

/** Returns the lanes that have batches of a handler, or of one target of it; for a resume. */
export const lanesOfHandler = async (db: Queryable, handler: string, target: string | null): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'lanes-of-handler',
    text: `
select distinct t.lane_id as id
from target t join handler h on h.id = t.handler_id
where h.name = $1 and t.lane_id is not null and ($2::text is null or t.key = $2)`,
    values: [handler, target],
  });
  return rows.map(({ id }) => id);
};
