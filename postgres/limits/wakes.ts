import { WOKEN } from '../grouping/leaderWakes';
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
with woken as (
  update leader l set state = 1 /* working */, wake_at = null, blocked = false,
    expires_at = clock() + $3 * interval '1 ms', woken_at = clock()
  from handler h
  where h.name = $1 and l.handler_id = h.id and l.state <> 1 /* working */ and exists (
    select from target t
    where t.leader_id = l.id and ($2::text is null or t.key = $2) and (t.due_at is not null or t.busy
      or exists (
        select from batch b
        where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is null))) ${WOKEN})
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
