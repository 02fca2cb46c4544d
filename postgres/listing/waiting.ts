import type { Queryable } from '../pool';
import type { SeqRange } from './accepted';
import { ALL_SEQS } from './accepted';

/**
 * Statements that list tasks which wait, of one handler or of one of its targets. Each returns a
 * page of its table in the order of an index, from a place on; the place of the last row is where
 * the next page begins.
 */
export interface ListScope {
  /** Null: all handlers; only what has ended is listed so. */
  handlerId: number | null;
  /** Null: all targets of the handler. */
  target: string | null;
  /** Only tasks in lanes that were accepted in this range. Default: all. */
  seqs?: SeqRange;
}

/** A row may be of a task that is in another state by now, or was of it before. */
export interface Listed<Place> {
  seq: number;
  /** The batch that it was found in; null: in none. */
  batchId: number | null;
  place: Place;
}

type Read<Place extends readonly unknown[]> = (
  db: Queryable,
  scope: ListScope,
  after: Place,
  limit: number,
) => Promise<Listed<Place>[]>;

const reading =
  <Place extends readonly unknown[]>(name: string, text: string): Read<Place> =>
  async (db, { handlerId, target }, after, limit) => {
    const { rows } = await db.query<Listed<Place>>({ name, text, values: [handlerId, target, limit, ...after] });
    return rows;
  };

/** The handler's targets from the one of the last row on. */
const TARGETS = `
  select t.id, t.key
  from target t
  where t.handler_id = $1 and t.key >= $4::text and ($2::text is null or t.key = $2)
  order by t.key`;

/** Key of the target, priority and seq: as they will be sent. */
export type QueuedPlace = readonly [key: string, priority: number, seq: number];
export const QUEUED_FIRST: QueuedPlace = ['', -32_768, 0];
export const listQueued = reading<QueuedPlace>(
  'list-queued',
  `
select q.seq, null::bigint as "batchId", json_build_array(t.key, q.priority, q.seq) as place
from (${TARGETS}) t cross join lateral (
  select q.priority, q.seq
  from queue q
  where q.target_id = t.id and (q.priority, q.seq) > (
    case when t.key = $4 then $5::bigint else -32768 end, case when t.key = $4 then $6::bigint else 0 end)
  order by q.priority, q.seq limit $3) q
order by t.key, q.priority, q.seq limit $3`,
);

/** Key of the target, time in microseconds and seq. */
export type DelayedPlace = readonly [key: string, notBeforeUs: number, seq: number];
export const DELAYED_FIRST: DelayedPlace = ['', 0, 0];
export const listDelayed = reading<DelayedPlace>(
  'list-delayed',
  `
select d.seq, null::bigint as "batchId",
  json_build_array(t.key, (extract(epoch from d.not_before) * 1000000)::bigint, d.seq) as place
from (${TARGETS}) t cross join lateral (
  select d.not_before, d.seq
  from delayed d
  where d.target_id = t.id and (d.not_before, d.seq) > (
    case when t.key = $4 then timestamptz 'epoch' + $5::float8 * interval '1 microsecond' else '-infinity' end,
    case when t.key = $4 then $6::bigint else 0 end)
  order by d.not_before, d.seq limit $3) d
order by t.key, d.not_before, d.seq limit $3`,
);

/** Key of the target, and seq. */
export type HeldPlace = readonly [key: string, seq: number];
export const HELD_FIRST: HeldPlace = ['', 0];
/**
 * Tasks that wait for tasks which they depend on. Compared as pairs: by "target_id = t.id" a plan
 * may read the primary key, in the order of `seq`, past what all other targets hold.
 */
export const listHeld = reading<HeldPlace>(
  'list-held',
  `
select h.seq, null::bigint as "batchId", json_build_array(t.key, h.seq) as place
from (${TARGETS}) t cross join lateral (
  select h.seq
  from held h
  where (h.target_id, h.seq) > (t.id, case when t.key = $4 then $5::bigint else 0 end)
    and (h.target_id, h.seq) <= (t.id, 9223372036854775807)
  order by h.target_id, h.seq limit $3) h
order by t.key, h.seq limit $3`,
);

/** Lane and seq. */
export type LaneTaskPlace = readonly [lane: number, seq: number];
export const LANE_TASKS_FIRST: LaneTaskPlace = [0, 0];
/** Returns tasks in lanes that are in no batch yet. */
export const listLaneTasks = async (
  db: Queryable,
  { handlerId, target, seqs: { from, to } = ALL_SEQS }: ListScope,
  after: LaneTaskPlace,
  limit: number,
): Promise<Listed<LaneTaskPlace>[]> => {
  const { rows } = await db.query<Listed<LaneTaskPlace>>({
    name: 'list-lane-tasks',
    text: `
select q.seq, null::bigint as "batchId", json_build_array(l.id, q.seq) as place
from (
  select l.id
  from lane l
  where l.handler_id = $1 and l.id >= $4::bigint
  order by l.id) l cross join lateral (
  select q.seq
  from lane_queue q
  where q.lane_id = l.id and q.seq > case when l.id = $4 then greatest($5::bigint, $6::bigint - 1) else $6 - 1 end
    and q.seq <= $7::bigint and ($2::text is null or (
      select t.key
      from target t
      where t.id = q.target_id) = $2)
  order by q.seq limit $3) q
order by l.id, q.seq limit $3`,
    values: [handlerId, target, limit, ...after, from, to],
  });
  return rows;
};
