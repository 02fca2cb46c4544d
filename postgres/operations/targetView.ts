import type { Overrides } from '../../workflows/planning/limits/limits';
import type { Queryable } from '../pool';

export interface TargetFacts {
  key: string;
  leader: string;
  /** Epoch of its leader. */
  epoch: number;
  pausedAt: Date | null;
  pauseReason: string | null;
  /** The target's calls (or weight) in flight are at the limit. */
  busy: boolean;
  /** Ms left of a hold, by back pressure or a rate limit; null: not held. */
  holdInMs: number | null;
  /** Ms until the leader looks at it; negative: overdue; null: nothing that waits could go. */
  dueInMs: number | null;
  /**
   * Tasks that are ready, that wait for their time, that are in open batches, and in parked ones.
   */
  queued: number;
  delayed: number;
  inFlight: number;
  unknown: number;
  overrides: Record<string, number> | null;
  /** Limits that were set for it at run time; null: none. */
  limitsSet: Overrides | null;
  lastFlushReason: number | null;
}

/**
 * Returns a page of a handler's targets in the order of their keys. The page is cut first, so that
 * only its own targets are counted.
 */
export const readTargets = async (
  db: Queryable,
  handlerId: number,
  page: { after: string | null; limit: number; dueOnly: boolean },
): Promise<TargetFacts[]> => {
  const { rows } = await db.query<TargetFacts>({
    name: 'read-targets',
    text: `
with page as materialized (
  select t.*
  from target t
  where t.handler_id = $1 and ($2::text is null or t.key > $2) and (not $4::bool or t.due_at <= clock())
  order by t.key limit $3)
select t.key, l.name as leader, l.epoch, t.paused_at as "pausedAt", t.pause_reason as "pauseReason", t.busy,
  case when t.hold_until > clock() then (extract(epoch from t.hold_until - clock()) * 1000)::float8 end as "holdInMs",
  (extract(epoch from t.due_at - clock()) * 1000)::float8 as "dueInMs",
  (select count(*) from queue q where q.target_id = t.id) as queued,
  (select count(*) from delayed d where d.target_id = t.id) as delayed,
  (select coalesce(sum(b.n - b.n_left), 0)::bigint
   from batch b
   where b.target_id = t.id and b.state = 1 /* open */) as "inFlight",
  (select coalesce(sum(b.n - b.n_left), 0)::bigint
   from batch b
   where b.target_id = t.id and b.state = 3 /* unknown */
     and b.state in (3 /* unknown */, 5 /* failed */, 6 /* dead */)) as unknown, t.overrides, t.limits as "limitsSet",
  (select b.reason
   from batch b
   where b.target_id = t.id and b.parent_id is null
   order by b.id desc limit 1) as "lastFlushReason"
from page t join leader l on l.id = t.leader_id
order by t.key`,
    values: [handlerId, page.after, page.limit, page.dueOnly],
  });
  return rows;
};
