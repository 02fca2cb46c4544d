import type { Queryable } from './pool';

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
update handler set hold_until = greatest(hold_until, clock() + $2 * interval '1 ms'), allowed = greatest(1, coalesce(allowed, per_handler) / 2)
where id = (select handler_id from target where id = $1)`,
    values: [targetId, inMs],
  });
};

/** A success after back pressure: one call more at once, until the limit is the configured one again. */
export const recoverAllowed = async (db: Queryable, targetIds: readonly number[]): Promise<void> => {
  await db.query({
    name: 'recover-target',
    text: `
update target t set allowed = case when t.allowed + 1 < h.per_target then t.allowed + 1 end from handler h
where t.id = any($1::int[]) and h.id = t.handler_id and t.allowed is not null`,
    values: [targetIds],
  });
  await db.query({
    name: 'recover-handler',
    text: `
update handler h set allowed = case when h.allowed + 1 < h.per_handler then h.allowed + 1 end
where h.allowed is not null and h.id = (select handler_id from target where id = any($1::int[]) limit 1)`,
    values: [targetIds],
  });
};
