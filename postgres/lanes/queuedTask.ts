import type { QueuedFacts } from '../../workflows/planning/explain/queuedInLane';
import type { Queryable } from '../pool';

/** Returns the place of a task that is in no batch yet, and what stops its lane; for `explain`. */
export const findQueuedInLane = async (db: Queryable, taskId: string): Promise<QueuedFacts | null> => {
  const { rows } = await db.query<QueuedFacts>({
    name: 'find-queued-in-lane',
    text: `
select l.service, (select count(*)::int from lane_queue a where a.lane_id = q.lane_id and a.seq < q.seq) as ahead,
  (select count(*)::int
   from lane_batch s
   where s.lane_id = q.lane_id and s.status < 10 /* open */ and s.seq < q.seq) as batches,
  case when u.paused_at is not null then json_build_object('reason', u.pause_reason) end as "queuerPaused",
  case when s.paused_at is not null then json_build_object('reason', s.pause_reason) end as "lanePaused",
  case when s.halted_by is not null then
    json_build_object('batch', s.halted_by, 'reason', s.halt_reason) end as halted,
  (extract(epoch from s.hold_until - clock()) * 1000)::float8 as "holdInMs"
from task k join lane_queue q on q.seq = k.seq join lane l on l.id = q.lane_id
  join lane_state s on s.lane_id = l.id join queuer u on u.id = s.queuer_id
where k.id = $1`,
    values: [taskId],
  });
  return rows[0] ?? null;
};
