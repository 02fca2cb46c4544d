import type { Queryable } from '../pool';

/** Statements of the notice that a downstream lost what it had accepted in a lane. */

export interface LanePosition {
  batchId: number;
  service: string;
  seq: number;
}

/** Returns where batches stand or stood in lanes, by number or by the downstream's reference. */
export const findPositions = async (
  db: Queryable,
  batchId: number | null,
  reference: string | null,
): Promise<LanePosition[]> => {
  const { rows } = await db.query<LanePosition>({
    name: 'find-lane-positions',
    text: `
select s.batch_id as "batchId", l.service, s.seq
from lane_batch s join lane l on l.id = s.lane_id
where s.batch_id in (select $1::bigint union all select id from batch where reference = $2)
order by s.batch_id limit 100`,
    values: [batchId, reference],
  });
  return rows;
};

export interface LostBatch {
  batchId: number;
  seq: number;
  /** False: it ended, or its status is being written by another transaction. */
  moved: boolean;
}

/**
 * Makes accepted batches of a lane behind `afterSeq` unknown, in order, at most `limit`, as a
 * status request that is answered `lost` does after its look-up said nothing. Each gets a new
 * attempt number: an answer about the old one, which is on its way, settles nothing. Batches are
 * locked before the lane, as in a settlement.
 */
export const loseAccepted = async (
  db: Queryable,
  lost: { laneId: number; afterSeq: number; acceptedBefore: string; error: string; limit: number },
): Promise<LostBatch[]> => {
  const { rows } = await db.query<LostBatch>({
    name: 'lose-accepted',
    text: `
with named as materialized (
  select s.batch_id, s.seq
  from lane_batch s
  where s.lane_id = $1 and s.status in (4 /* pending */, 5 /* valid */) and s.seq > $2
    and s.changed_at <= $3::timestamptz
  order by s.seq limit $5),
locked as materialized (
  select b.id
  from batch b
  where b.id = any(array(select batch_id from named)) and b.state = 1 /* open */ and b.reference is not null
    and b.poll_at is not null
  order by b.id for no key update),
told as (
  update batch b set attempt = b.attempt + 1, dispatch = null, retry_at = clock(), poll_at = null, error = $4,
    attempt_until = coalesce(b.attempt_until, clock())
  from locked k
  where b.id = k.id
  returning b.id),
moved as (
  update lane_batch s set status = 2 /* unknown */, resolving = false, not_before = null, look_ups = 0,
    changed_at = clock()
  from told d
  where s.batch_id = d.id and s.status in (4 /* pending */, 5 /* valid */)
  returning s.batch_id),
counted as (
  update lane_state l set ready = true, pending = l.pending - (select count(*)::int from moved)
  where l.lane_id = $1 and exists (select from moved))
select n.batch_id as "batchId", n.seq, m.batch_id is not null as moved
from named n left join moved m using (batch_id)
order by n.seq`,
    values: [lost.laneId, lost.afterSeq, lost.acceptedBefore, lost.error, lost.limit],
  });
  return rows;
};
