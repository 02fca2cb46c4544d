import type { Queryable } from '../pool';
import type { Listed, ListScope } from './waiting';

/** Statements that list the members of batches which have not ended, in the order of an index. */

/** Key of the target, batch, and place in it. */
export type BatchPlace = readonly [key: string, batch: number, place: number];
export const BATCHES_FIRST: BatchPlace = ['', 0, 0];

const members = (condition: string): string => `
select u.seq, b.id as "batchId", json_build_array(t.key, b.id, u.place) as place
from target t join batch b on b.target_id = t.id and ${condition}
  cross join lateral unnest(b.members) with ordinality u (seq, place)
where t.handler_id = $1 and t.key >= $4::text and ($2::text is null or t.key = $2)
  and (t.key > $4 or (b.id, u.place) > ($5::bigint, $6::bigint))
order by t.key, b.id, u.place limit $3`;

const reading =
  (name: string, text: string) =>
  async (db: Queryable, scope: ListScope, after: readonly unknown[], limit: number): Promise<Listed<BatchPlace>[]> => {
    const values = [scope.handlerId, scope.target, limit, ...after];
    const { rows } = await db.query<Listed<BatchPlace>>({ name, text, values });
    return rows;
  };

/** Members of open batches, save those of lanes. */
export const listOpen = reading('list-open', members('b.state = 1 /* open */ and b.leader_id <> 0'));

/** Members of batches whose outcome is unknown. */
export const listParked = reading(
  'list-parked',
  members('b.state = 3 /* unknown */ and b.state in (3 /* unknown */, 5 /* failed */, 6 /* dead */)'),
);

/** Lane, place of the batch in it, and place in the batch. */
export type LaneBatchPlace = readonly [lane: number, seq: number, place: number];
export const LANE_BATCHES_FIRST: LaneBatchPlace = [0, 0, 0];

/** Returns members of batches that stand in lanes, in whichever state. */
export const listLaneBatches = async (
  db: Queryable,
  { handlerId, target }: ListScope,
  after: LaneBatchPlace,
  limit: number,
): Promise<Listed<LaneBatchPlace>[]> => {
  const { rows } = await db.query<Listed<LaneBatchPlace>>({
    name: 'list-lane-batches',
    text: `
select u.seq, b.id as "batchId", json_build_array(s.lane_id, s.seq, u.place) as place
from lane_batch s join batch b on b.id = s.batch_id join target t on t.id = s.target_id
  cross join lateral unnest(b.members) with ordinality u (seq, place)
where s.handler_id = $1 and s.status < 10 /* open */ and ($2::text is null or t.key = $2)
  and (s.lane_id, s.seq) >= ($4::bigint, $5::bigint)
  and ((s.lane_id, s.seq) > ($4, $5) or u.place > $6::bigint)
order by s.lane_id, s.seq, u.place limit $3`,
    values: [handlerId, target, limit, ...after],
  });
  return rows;
};
