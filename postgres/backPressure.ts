import type { Queryable } from './pool';

/**
 * In a lane no more than its queuer's slots are ever in flight: a limit above them is halved from there, and is whole again there. Null for
 * a target that feeds no lane; least() passes over it.
 */
const SLOTS = `(select q.slots from lane l join queuer q on q.id = l.queuer_id where l.id = t.lane_id)`;

/** Back pressure: nothing of the target before then, and half as many calls at once (H5). */
export const holdTarget = async (db: Queryable, targetId: number, inMs: number): Promise<void> => {
  await db.query({
    name: 'hold-target',
    text: `
update target t set hold_until = greatest(t.hold_until, clock() + $2 * interval '1 ms'), due_at = greatest(t.due_at, t.hold_until, clock() + $2 * interval '1 ms'),
  allowed = greatest(1, coalesce(t.allowed, h.per_target) / 2) from handler h where t.id = $1 and h.id = t.handler_id`,
    values: [targetId, inMs],
  });
};

export const holdHandler = async (db: Queryable, targetId: number, inMs: number): Promise<void> => {
  await db.query({
    name: 'hold-handler',
    text: `
update handler h set hold_until = greatest(h.hold_until, clock() + $2 * interval '1 ms'), allowed = greatest(1, coalesce(h.allowed, least(h.per_handler, ${SLOTS})) / 2)
from target t where t.id = $1 and h.id = t.handler_id`,
    values: [targetId, inMs],
  });
};

/**
 * The same of a target that feeds a lane, without a time: that is the lane's (`holdLane`). Nothing where the lane sends one after the other,
 * so one at once. After the lane's row was locked, as a grant that takes of a target's rate.
 */
export const reduceTargetInLane = async (db: Queryable, targetId: number): Promise<void> => {
  await db.query({
    name: 'reduce-target-in-lane',
    text: `
update target t set allowed = greatest(1, coalesce(t.allowed, least(h.per_target, h.per_handler, q.slots)) / 2)
from handler h, lane l, queuer q where t.id = $1 and h.id = t.handler_id and l.id = t.lane_id and q.id = l.queuer_id
  and not (l.on_invalid = 1 or l.approach = 1 and l.kind = 1)`,
    values: [targetId],
  });
};

/** A success after back pressure: one call more at once, until the limit is the configured one again. */
export const recoverAllowed = async (db: Queryable, targetIds: readonly number[]): Promise<void> => {
  await db.query({
    name: 'recover-target',
    text: `
update target t set allowed = case when t.allowed + 1 < least(h.per_target, ${SLOTS}) then t.allowed + 1 end from handler h
where t.id = any($1::int[]) and h.id = t.handler_id and t.allowed is not null`,
    values: [targetIds],
  });
  await db.query({
    name: 'recover-handler',
    text: `
update handler h set allowed = case when h.allowed + 1 < least(h.per_handler, ${SLOTS}) then h.allowed + 1 end
from (select * from target where id = any($1::int[]) limit 1) t where h.allowed is not null and h.id = t.handler_id`,
    values: [targetIds],
  });
};
