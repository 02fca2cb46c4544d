import type { Queryable } from '../pool';

/** A batch of a split, as the page of any of them shows it. */
export interface HalfRow {
  id: number;
  /** Null: all others were split from it, or more than are looked up. */
  parent: number | null;
  state: number;
  n: number;
  left: number;
  attempts: number;
}

/**
 * Returns the batch that a batch was split from in the end, and all that were split from that, the
 * oldest splits first; at most `limit`. Halves of 10,000 tasks are 14 levels; what is left of a
 * batch of a lane may be split off again and again.
 */
export const readHalves = async (db: Queryable, id: number, limit: number): Promise<HalfRow[]> => {
  const { rows } = await db.query<HalfRow>({
    name: 'read-halves',
    text: `
with recursive up as (
  select b.id, b.parent_id, 0 as splits
  from batch b
  where b.id = $1
  union all
  select p.id, p.parent_id, up.splits + 1
  from up join batch p on p.id = up.parent_id
  where up.splits < $2),
down as (
  (select up.id, null::bigint as parent, 0 as splits
  from up
  order by up.splits desc limit 1)
  union all
  select c.id, down.id, down.splits + 1
  from down join batch c on c.parent_id = down.id
  where down.splits < $2),
found as (
  select down.id, down.parent, down.splits
  from down
  limit $2)
select b.id, f.parent, b.state, b.n, b.n_left as left, b.attempt as attempts
from found f join batch b on b.id = f.id
order by f.splits, b.id`,
    values: [id, limit],
  });
  return rows;
};
