import type { Queryable } from './pool';

/** The calls in flight of a handler (H5, A18): every live submission holds some of its slots, as a row of `dispatch`. And the weight of its open batches. */

/** Slots of submissions that the workflow does not know (never started, died, or of an earlier run) are free again. */
export const forgetDispatches = async (db: Queryable, leaderId: number, live: readonly number[]): Promise<void> => {
  await db.query({
    name: 'forget-dispatches',
    text: 'delete from dispatch where leader_id = $1 and no <> all($2::bigint[])',
    values: [leaderId, live],
  });
};

/** Who holds slots of the handler, and who wants some, as they stand under its lock. */
export interface SlotTokens {
  slots: { leader: number; slots: number }[];
  blocked: number;
  active: number;
  /** Something of this leader is due, or comes back from a submission that ended badly: a claim may find work. */
  due: boolean;
}
/**
 * `active` counts leaders that were woken, or whose time has come, too: or the first of those that come together takes all slots,
 * and the others wait for the whole of its submission.
 */
export const readSlotTokens = async (
  db: Queryable,
  handlerId: number,
  leaderId: number,
  live: readonly number[],
): Promise<SlotTokens> => {
  const { rows } = await db.query<SlotTokens>({
    name: 'read-slot-tokens',
    text: `
select coalesce((select json_agg(json_build_object('leader', d.leader_id, 'slots', d.slots)) from dispatch d join leader l on l.id = d.leader_id
    where d.handler_id = $1 and (d.leader_id = $2 or l.expires_at > clock())), '[]') as slots,
  (select count(*)::int from leader l where l.handler_id = $1 and l.id <> $2 and l.blocked and l.wants_slots) as blocked,
  (select count(*)::int from leader l where l.handler_id = $1 and l.id <> $2 and (l.blocked and l.wants_slots or (l.state = 1 or l.wake_at <= clock()) and l.expires_at > clock()
    or exists (select from dispatch d where d.leader_id = l.id))) + 1 as active,
  exists (select from target t where t.leader_id = $2 and t.due_at <= clock() and not t.paused and not t.busy)
    or exists (select from target t where t.leader_id = $2 and t.busy)
    or exists (select from batch b where b.leader_id = $2 and b.state = 1 and b.dispatch is not null and b.dispatch <> all($3::bigint[])) as due`,
    values: [handlerId, leaderId, live],
  });
  return rows[0]!;
};

/** Whether a slot of the handler is free: read again, in a new snapshot, by whoever has published that it waits for one. */
export const hasFreeSlot = async (db: Queryable, leaderId: number): Promise<boolean> => {
  const { rows } = await db.query<{ free: boolean }>({
    name: 'has-free-slot',
    text: `
select coalesce((select sum(d.slots) from dispatch d join leader o on o.id = d.leader_id
  where d.handler_id = h.id and (o.id = l.id or o.expires_at > clock())), 0) < least(h.per_handler, h.allowed) as free
from leader l join handler h on h.id = l.handler_id where l.id = $1 and l.blocked and l.wants_slots`,
    values: [leaderId],
  });
  return rows[0]?.free ?? false;
};

/** Reserves slots for a submission that the same turn is to start. A turn that runs again finds its own reservation gone (`forgetDispatches`). */
export const insertDispatch = async (
  db: Queryable,
  d: { leaderId: number; no: number; handlerId: number; slots: number },
): Promise<void> => {
  await db.query({
    name: 'insert-dispatch',
    text: 'insert into dispatch (leader_id, no, handler_id, slots, started_at, seen_at) values ($1, $2, $3, $4, clock(), clock())',
    values: [d.leaderId, d.no, d.handlerId, d.slots],
  });
};

/** What of the reservation was used; none: there is no submission. False: the reservation is gone. */
export const useDispatch = async (db: Queryable, leaderId: number, no: number, slots: number): Promise<boolean> => {
  const { rowCount } = await db.query(
    slots === 0
      ? { name: 'drop-dispatch', text: 'delete from dispatch where leader_id = $1 and no = $2', values: [leaderId, no] }
      : {
          name: 'use-dispatch',
          text: 'update dispatch set slots = $3 where leader_id = $1 and no = $2',
          values: [leaderId, no, slots],
        },
  );
  return rowCount === 1;
};

/** Weight of all open batches of the handler (G4), under its lock. */
export const readHandlerWeight = async (db: Queryable, handlerId: number): Promise<number> => {
  const { rows } = await db.query<{ weight: number }>({
    name: 'read-handler-weight',
    text: `
select coalesce(sum(b.weight), 0)::float8 as weight from leader l join batch b on b.leader_id = l.id and b.state = 1 where l.handler_id = $1`,
    values: [handlerId],
  });
  return rows[0]!.weight;
};
