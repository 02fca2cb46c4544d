import { wakingThoseWithWork } from '../grouping/leaderWakes';
import type { WokenLeader } from '../grouping/ring';
import { INSTALLATION } from '../installation';
import type { Queryable } from '../pool';

/**
 * Wakes, after limits of a handler (or of one target) have changed, every leader that has work or
 * waits for calls in flight, and returns them with those that work and wait for slots: what they
 * wait for may be there now.
 */
export const wakeLimitedLeaders = async (
  db: Queryable,
  handler: string,
  key: string | null,
  leaseMs: number,
): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'wake-limited-leaders',
    text: `
with woken as (${wakingThoseWithWork('or t.busy')})
select *
from woken
union all select l.id, h.name, l.name, 0::float8, ${INSTALLATION}
from leader l join handler h on h.id = l.handler_id
where h.name = $1 and l.state = 1 /* working */ and exists (
  select from target t
  where t.leader_id = l.id and ($2::text is null or t.key = $2) and not t.paused and (t.due_at <= clock() or t.busy))`,
    values: [handler, key, leaseMs],
  });
  return rows;
};
