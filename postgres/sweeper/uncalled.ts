import { attendedBy, LATE } from './attended';

/**
 * Finds batches in the hands of a dispatch or submitter whose calls have not begun: the activity
 * was never started, or its process is stopped, overloaded or hangs, whether it gives signs of life
 * or not. A healthy one calls what it has at once, or gives it back within its soft deadline of
 * seconds.
 */

const SERVED = attendedBy('h.name = any(n.handlers)');

/** Batches of lanes: since they were granted, or since their rate let them start. */
export const STALLED_GRANTS = `
select h.name as handler, b.id as batch, m.queuer_id as owner, null::text as leader,
  greatest(s.granted_at, b.retry_at) as since
from lane_batch s join batch b on b.id = s.batch_id
  join handler h on h.id = s.handler_id
  join lane_state m on m.lane_id = s.lane_id
where s.status = 3 /* submitted */ and b.state = 1 /* open */ and b.dispatch is not null and b.attempt_until is null
  and s.granted_at < ${LATE} and greatest(s.granted_at, b.retry_at) < ${LATE} and ${SERVED}`;

/** Batches of leaders: since the dispatch was started, or was given them. */
export const STALLED_CARRIED = `
select h.name as handler, b.id as batch, l.id as owner, l.name as leader,
  greatest(d.started_at, b.created_at, b.retry_at) as since
from dispatch d join leader l on l.id = d.leader_id join handler h on h.id = l.handler_id
  join batch b on b.leader_id = d.leader_id and b.dispatch = d.no and b.state = 1 /* open */
where b.attempt_until is null and b.reference is null and not b.refused
  and d.started_at < ${LATE} and greatest(d.started_at, b.created_at, b.retry_at) < ${LATE} and ${SERVED}`;

const STALLED_CALLS = `${STALLED_GRANTS} union all ${STALLED_CARRIED}`;

/** One row per handler and leader or queuer that gave them out: its oldest. */
export const STALLED_DISPATCHES = `
select distinct on (c.handler, c.leader, c.owner) c.handler, c.batch, c.owner, c.leader, c.since,
  case when c.leader is null then (select q.holder from queuer q where q.id = c.owner)
    else (select l.holder from leader l where l.id = c.owner) end as run
from (${STALLED_CALLS}) c order by c.handler, c.leader, c.owner, c.since, c.batch`;
