import type { Invariant } from './invariant';
import { ofTable } from './invariant';

/**
 * Fan-outs: a row agrees with its segments, and the end is reported once to the client that asked
 * for it.
 */
export const fanouts: readonly Invariant[] = [
  {
    name: 'the open segments of a fan-out are those with bits',
    ...ofTable(
      'fanout',
      `
select f.public_id as fanout, f.open_segments as "openSegments",
  (count(*) filter (where bit_count(s.bits) > 0))::int as found
from looked f left join segment s on s.fanout_id = f.id
where f.state < 4 /* not deleted */
group by f.id, f.public_id, f.open_segments
having f.open_segments <> count(*) filter (where bit_count(s.bits) > 0)
order by f.id limit 20`,
    ),
  },
  {
    name: 'the items of a fan-out are the sum of its segments',
    ...ofTable(
      'fanout',
      `
select f.public_id as fanout, f.items, f.segments, coalesce(sum(s.size), 0)::bigint as "sumOfSizes",
  count(s.no)::int as found
from looked f left join segment s on s.fanout_id = f.id
where f.state < 4 /* not deleted */
group by f.id, f.public_id, f.items, f.segments
having f.items <> coalesce(sum(s.size), 0) or f.segments <> count(s.no) or f.segments <> coalesce(max(s.no) + 1, 0)
order by f.id limit 20`,
    ),
  },
  {
    // Enforced by table checks as well: a lost completion would be a failed write.
    name: 'a fan-out is complete iff it is sealed and has no open segment',
    ...ofTable(
      'fanout',
      `
select public_id as fanout, state, open_segments as "openSegments", sealed_at as "sealedAt",
  completed_at as "completedAt"
from looked
where state < 3 /* not expired */ and (state = 2 /* complete */) <> (sealed_at is not null and open_segments = 0)
  or state = 2 /* complete */ and completed_at is null
  or state = 0 /* open */ and sealed_at is not null
order by id limit 20`,
    ),
  },
  {
    name: 'a segment is not larger than its fan-out allows, and its unused bits are 0',
    ...ofTable(
      'fanout',
      `
select f.public_id as fanout, s.no as segment, s.size, f.segment_size as "segmentSize"
from looked f join segment s on s.fanout_id = f.id
where s.size > f.segment_size
  or octet_length(s.bits) <> (s.size + 7) / 8
  or s.size % 8 > 0 and get_byte(s.bits, octet_length(s.bits) - 1) >> (s.size % 8) > 0
order by s.fanout_id, s.no limit 20`,
    ),
  },
  {
    name: 'the end of a fan-out is told once to who asked for it',
    ...ofTable(
      'fanout',
      `
select f.public_id as fanout, f.state, count(n.id)::int as messages
from looked f left join notification n on n.fanout_id = f.id
where f.state < 4 /* not deleted */
group by f.id, f.public_id, f.state, f.recipient_id
having count(n.id) <> case when f.state in (2 /* complete */, 3 /* expired */) and f.recipient_id is not null then 1
    else 0 end
order by f.id limit 20`,
    ),
  },
  {
    name: 'a message of a fan-out says how it ended',
    ...ofTable(
      'notification',
      `
select n.id as notification, f.public_id as fanout, n.body->>'type' as type, f.state
from looked n left join fanout f on f.id = n.fanout_id
where n.fanout_id is not null and (f.id is null
  or f.state in (2 /* complete */, 3 /* expired */) and n.body->>'type' is distinct from case f.state
      when 2 /* complete */ then 'fanout.completed' else 'fanout.expired' end
  or n.body->>'fanout' is distinct from f.public_id::text)
order by n.id limit 20`,
    ),
  },
];
