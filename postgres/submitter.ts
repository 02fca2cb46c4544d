import type { CarriedBatch } from './batch';
import { CARRIED } from './batch';
import type { Queryable } from './pool';

/** A submission activity of a queuer: what it holds, and its marks. Grants are in `grant.ts`. */

/** The batches that it holds, in the order in which they were granted. */
export const readGranted = async (db: Queryable, no: number): Promise<CarriedBatch[]> => {
  const { rows } = await db.query<CarriedBatch>({
    name: 'read-granted',
    text: `${CARRIED} join submission s on s.batch_id = b.id where s.submitter = $1 and s.status = 3 and b.dispatch = $1 and b.state = 1 order by s.granted_at, b.id`,
    values: [no],
  });
  return rows;
};

/**
 * Marks a call right before it is made (C29): granted to this submitter, which is not taken for dead, by a queuer that still rules; nobody
 * paused anything, and the batch stands in the lane that its target feeds. False: it must not be sent.
 */
export const markGranted = async (
  db: Queryable,
  mark: { id: number; attempt: number; submitter: number; node: string; timeoutMs: number },
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'mark-granted',
    text: `
update batch b set attempt = b.attempt + 1, attempt_by = $4, attempt_until = clock() + $5 * interval '1 ms', started_at = coalesce(b.started_at, clock()), retry_at = null
from submission s, lane_state l, submitter m, queuer q, target t, handler h
where b.id = $1 and b.attempt = $2 and b.state + 0 = 1 and b.dispatch = $3 and b.attempt_until is null
  and s.batch_id = b.id and s.status = 3 and s.submitter = $3 and l.lane_id = s.lane_id and l.paused_at is null and l.halted_by is null
  and m.no = $3 and m.expires_at > clock() and q.id = m.queuer_id and q.epoch = m.epoch and q.paused_at is null
  and t.id = b.target_id and t.id = s.target_id and t.lane_id = s.lane_id and not t.paused and h.id = t.handler_id and h.paused_at is null`,
    values: [mark.id, mark.attempt, mark.submitter, mark.node, mark.timeoutMs],
  });
  return rowCount === 1;
};

/** It goes on with so many slots; the others are free for the queuer. */
export const shrinkSubmitter = async (db: Queryable, no: number, slots: number): Promise<void> => {
  await db.query({
    name: 'shrink-submitter',
    text: 'update submitter set slots = least(slots, $2) where no = $1',
    values: [no, slots],
  });
};

/** It is over. */
export const deleteSubmitter = async (db: Queryable, no: number): Promise<void> => {
  await db.query({ name: 'delete-submitter', text: 'delete from submitter where no = $1', values: [no] });
};
