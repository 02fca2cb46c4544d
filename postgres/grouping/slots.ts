import { SHARED_FREE } from '../limits/shared';
import type { Queryable } from '../pool';
import { ALIVE } from './alive';

/**
 * Statements about a handler's calls in flight: every live dispatch holds some of the handler's
 * slots, as a row of `dispatch`. Also the weight of its open batches.
 */

/** Slots of the handler `h` that live dispatches hold. */
export const SLOTS_TAKEN = `(select coalesce(sum(d.slots), 0)::int from dispatch d where d.handler_id = h.id
  and ${ALIVE})`;

/**
 * Frees the slots of the run's own dispatches that it does not know (never started, or dead);
 * `from` is the first number of its epoch. Calls of a run that is gone are not broken off, so its
 * dispatches keep their slots like any other: by their own sign of life.
 */
export const forgetDispatches = async (
  db: Queryable,
  leaderId: number,
  live: readonly number[],
  from: number,
): Promise<void> => {
  await db.query({
    name: 'forget-dispatches',
    text: `delete from dispatch d where d.leader_id = $1 and d.no <> all($2::bigint[]) and (d.no >= $3
      or not ${ALIVE})`,
    values: [leaderId, live, from],
  });
};

/**
 * The leaders that hold slots of the handler and those that want some, read under the handler's
 * lock.
 */
export interface SlotTokens {
  slots: { leader: number; no: number; slots: number }[];
  blocked: number;
  active: number;
  /**
   * Something of this leader is due, or comes back from a dispatch that failed: a claim may find
   * work.
   */
  due: boolean;
}
/**
 * Reads who holds and who wants slots. `active` also counts leaders that were woken, or whose time
 * has come: otherwise the first of several takes all slots, and the others wait until its dispatch
 * ends.
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
select coalesce(
  (select json_agg(json_build_object('leader', d.leader_id, 'no', d.no, 'slots', d.slots) order by d.leader_id, d.no)
   from dispatch d
   where d.handler_id = $1 and ${ALIVE}), '[]') as slots,
  (select count(*)::int
   from leader l
   where l.handler_id = $1 and l.id <> $2 and l.blocked and l.wants_slots) as blocked,
  (select count(*)::int
   from leader l
   where l.handler_id = $1 and l.id <> $2 and (l.blocked and l.wants_slots
     or (l.state = 1 /* working */ or l.wake_at <= clock()) and l.expires_at > clock()
     or exists (select from dispatch d where d.leader_id = l.id and ${ALIVE}))) + 1 as active,
  exists (select from target t where t.leader_id = $2 and t.due_at <= clock() and not t.paused and not t.busy)
  or exists (select from target t where t.leader_id = $2 and t.busy) or exists (
    select from batch b
    where b.leader_id = $2 and b.state = 1 /* open */ and b.dispatch is not null
      and b.dispatch <> all($3::bigint[])) as due`,
    values: [handlerId, leaderId, live],
  });
  return rows[0]!;
};

/**
 * Says whether a slot of the handler is free. A leader reads it again, in a new snapshot, after it
 * has published that it waits for one.
 */
export const hasFreeSlot = async (db: Queryable, leaderId: number): Promise<boolean> => {
  const { rows } = await db.query<{ free: boolean }>({
    name: 'has-free-slot',
    text: `
select ${SLOTS_TAKEN} < least(h.per_handler, h.allowed) and ${SHARED_FREE} as free
from leader l join handler h on h.id = l.handler_id
where l.id = $1 and l.blocked and l.wants_slots`,
    values: [leaderId],
  });
  return rows[0]?.free ?? false;
};

/**
 * Reserves slots for a dispatch that the same turn is to start. A turn that runs again finds its
 * own reservation gone (`forgetDispatches`).
 */
export const insertDispatch = async (
  db: Queryable,
  d: { leaderId: number; no: number; handlerId: number; slots: number; rateChanges: number },
): Promise<void> => {
  await db.query({
    name: 'insert-dispatch',
    text: `
insert into dispatch (leader_id, no, handler_id, slots, rate_changes, started_at, seen_at)
values ($1, $2, $3, $4, $5, clock(), clock())`,
    values: [d.leaderId, d.no, d.handlerId, d.slots, d.rateChanges],
  });
};

/**
 * Sets a reservation to the slots that were used; without any there is no dispatch. False: the
 * reservation is gone.
 */
export const useDispatch = async (db: Queryable, leaderId: number, no: number, slots: number): Promise<boolean> => {
  const { rowCount } = await db.query(
    slots === 0
      ? { name: 'drop-dispatch', text: 'delete from dispatch where leader_id = $1 and no = $2', values: [leaderId, no] }
      : {
          name: 'use-dispatch',
          text: 'update dispatch set slots = least(slots, $3) where leader_id = $1 and no = $2',
          values: [leaderId, no, slots],
        },
  );
  return rowCount === 1;
};

/**
 * Locks a handler's limit of calls in flight: the lock's holder may give slots to a dispatch, or
 * take some from it.
 */
export const lockHandlerLimit = async (
  db: Queryable,
  handlerId: number,
): Promise<{ limit: number; shares: number | null }> => {
  const { rows } = await db.query<{ limit: number; shares: number | null }>({
    name: 'lock-handler-limit',
    text: 'select least(h.per_handler, h.allowed) as "limit", h.shares from handler h where h.id = $1 for no key update',
    values: [handlerId],
  });
  return rows[0] ?? { limit: 0, shares: null };
};

/** Sets the slots of dispatches, under the handler's lock. */
export const setSlots = async (
  db: Queryable,
  dispatches: readonly { leader: number; no: number; slots: number }[],
): Promise<void> => {
  await db.query({
    name: 'set-slots',
    text: `
update dispatch d set slots = s.slots
from unnest($1::int[], $2::bigint[], $3::int[]) s (leader_id, no, slots)
where d.leader_id = s.leader_id and d.no = s.no`,
    values: [
      dispatches.map(({ leader }) => leader),
      dispatches.map(({ no }) => no),
      dispatches.map(({ slots }) => slots),
    ],
  });
};

/**
 * Revives a dispatch without a recent sign of life, with the slots that were free for it, under the
 * handler's lock. False: the dispatch is not known.
 */
export const reviveDispatch = async (db: Queryable, leaderId: number, no: number, slots: number): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'revive-dispatch',
    text: 'update dispatch set slots = $3, seen_at = clock() where leader_id = $1 and no = $2',
    values: [leaderId, no, slots],
  });
  return rowCount === 1;
};

/**
 * Returns how long ago a dispatch gave its last sign of life, and its slots. Null: the dispatch is
 * not known.
 */
export const readDispatchSlots = async (
  db: Queryable,
  leaderId: number,
  no: number,
): Promise<{ slots: number; seenAgoMs: number } | null> => {
  const { rows } = await db.query<{ slots: number; seenAgoMs: number }>({
    name: 'read-dispatch-slots',
    text: `
select slots, (greatest(0, extract(epoch from clock() - seen_at)) * 1000)::float8 as "seenAgoMs"
from dispatch
where leader_id = $1 and no = $2`,
    values: [leaderId, no],
  });
  return rows[0] ?? null;
};

/** Returns the weight of all open batches of the handler, under its lock. */
export const readHandlerWeight = async (db: Queryable, handlerId: number): Promise<number> => {
  const { rows } = await db.query<{ weight: number }>({
    name: 'read-handler-weight',
    text: `
select coalesce(sum(b.weight), 0)::float8 as weight
from leader l join batch b on b.leader_id = l.id and b.state = 1 /* open */
where l.handler_id = $1`,
    values: [handlerId],
  });
  return rows[0]!.weight;
};
