import type { FanoutRow } from '../fanouts/fanout';
import type { Queryable } from '../pool';

/** Most items of a fan-out whose open ones are counted for a list: they have a bit each. */
const COUNTED_ITEMS = 1_000_000;

/**
 * Returns the newest fan-outs, of one tenant or all. `open` is the number of items that are not
 * acked, null where counting it would read much.
 */
export const readNewestFanouts = async (
  db: Queryable,
  { limit, tenant }: { limit: number; tenant: string | null },
): Promise<(FanoutRow & { open: number | null })[]> => {
  const { rows } = await db.query<FanoutRow & { open: number | null }>({
    name: 'read-newest-fanouts',
    text: `
select f.public_id as id, f.user_key as "userKey", f.state, f.segment_size as "segmentSize", f.items, f.segments,
  f.open_segments as "openSegments", f.opened_at as "openedAt", f.active_at as "activeAt", f.sealed_at as "sealedAt",
  f.completed_at as "completedAt", f.expired_at as "expiredAt",
  case when f.open_segments = 0 then 0
    when f.items <= ${COUNTED_ITEMS} then (
      select coalesce(sum(bit_count(s.bits)), 0)::bigint
      from segment s
      where s.fanout_id = f.id) end as open
from fanout f
where f.state < 4 /* not deleted */ and ($2::text is null or f.tenant = $2)
order by f.id desc limit $1`,
    values: [limit, tenant],
  });
  return rows;
};
