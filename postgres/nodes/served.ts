import { WOKEN } from '../grouping/leaderWakes';
import type { Queryable } from '../pool';
import type { WokenLeader } from '../grouping/ring';

/**
 * Finds work that waited for a node and has one now, in case the process that should have announced
 * it (a node that joins, the balancer) died. So leaders and queuers need hardly look themselves.
 * Both statements go by the rows alone, so that nothing is lost.
 */

/**
 * Marks lanes that wait for a handler which a live node has now, and whose partition, if they are
 * in one, a node holds. Returns their queuers.
 */
export const markServedWaiting = async (db: Queryable, withinMs: number, limit: number): Promise<number[]> => {
  const { rows } = await db.query<{ queuerId: number }>({
    name: 'mark-served-waiting',
    text: `
update lane_state s set ready = true, unserved_by = null
from (
  select s.lane_id
  from lane_state s join lane l on l.id = s.lane_id join handler own on own.id = l.handler_id
  where not s.ready and s.unserved_by && array(
    select h.id
    from handler h
    where exists (
      select from node n
      where not n.draining and n.seen_at > clock() - $1 * interval '1 ms' and h.name = any(n.handlers)))
    and (own.partitions = 0
      or l.partition is null
      or exists (
        select from lease e
        where e.resource = l.partition and e.holder is not null and e.expires_at > clock() and e.revoked_at is null))
  order by s.lane_id limit $2 for no key update of s skip locked) l
where s.lane_id = l.lane_id
returning s.queuer_id as "queuerId"`,
    values: [withinMs, limit],
  });
  return [...new Set(rows.map(({ queuerId }) => queuerId))];
};

/**
 * Wakes leaders whose last turn found no holder of their partition (`heldBy`), where there is one
 * now.
 */
export const wakeServedWaiting = async (db: Queryable, heldBy: string, leaseMs: number): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'wake-served-waiting',
    text: `
update leader l set state = 1 /* working */, wake_at = null, blocked = false,
  expires_at = clock() + $2 * interval '1 ms', woken_at = clock()
from partition p join handler h on h.id = p.handler_id
join lease e on e.resource = p.resource and e.holder is not null and e.expires_at > clock() and e.revoked_at is null
where l.handler_id = p.handler_id and l.name = p.no::text and l.state = 2 /* waiting */ and l.blocked
  and l.answer->>'heldBy' = $1 ${WOKEN}`,
    values: [heldBy, leaseMs],
  });
  return rows;
};
