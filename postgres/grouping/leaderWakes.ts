import { INSTALLATION } from '../installation';
import { SHARED_FREE } from '../limits/shared';
import type { Queryable } from '../pool';
import type { WokenLeader } from './ring';
import { SLOTS_TAKEN } from './slots';
import type { SilentTurn } from './leader';

/**
 * Leaders to wake: those whose awaited slots, node or resume has come, and those whose wake was
 * lost.
 */

export const WOKEN = `returning l.id as "leaderId", h.name as handler, l.name, 0::float8 as "dueInMs",
  ${INSTALLATION} as installation`;

/** Holds where handler `h` is the one named, or shares a limit with it. */
const OF_SHARERS = `(h.id = $1 or h.shares = (select m.shares from handler m where m.id = $1))`;

/**
 * Wakes leaders that wait for what another one held (slots, weight in flight), once some of it is
 * free. `except`: the leader whose dispatch held it, which hears of it otherwise; a later run of
 * that leader is woken.
 */
export const wakeBlockedLeaders = async (
  db: Queryable,
  handlerId: number,
  except: { leaderId: number; epoch: number } | null,
  leaseMs: number,
): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'wake-blocked-leaders',
    text: `
update leader l set state = 1 /* working */, wake_at = null, blocked = false,
  expires_at = clock() + $3 * interval '1 ms', woken_at = clock()
from handler h
where ${OF_SHARERS} and l.handler_id = h.id and l.state = 2 /* waiting */ and l.blocked
  and (h.id = $1 or l.wants_slots) and (l.id, l.epoch) is distinct from ($2::int, $4::bigint) ${WOKEN}`,
    values: [handlerId, except?.leaderId ?? null, leaseMs, except?.epoch ?? null],
  });
  return rows;
};

/** Wakes leaders of partitions that this node holds now, where due work waited for a holder. */
export const wakeServedLeaders = async (
  db: Queryable,
  partitions: readonly string[],
  leaseMs: number,
): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'wake-served-leaders',
    text: `
update leader l set state = 1 /* working */, wake_at = null, blocked = false,
  expires_at = clock() + $2 * interval '1 ms',
  woken_at = clock()
from partition p join handler h on h.id = p.handler_id
where p.resource = any($1::text[]) and l.handler_id = p.handler_id and l.name = p.no::text
  and l.state = 2 /* waiting */ and l.blocked ${WOKEN}`,
    values: [partitions, leaseMs],
  });
  return rows;
};

/**
 * Wakes leaders that wait for slots, if one is free: after every turn, since its claim may have
 * left some of the slots it had reserved, or forgotten those of a dead dispatch. Only leaders that
 * wait for slots: two that wait for a rate would wake each other without end.
 */
export const wakeForFreeSlots = async (
  db: Queryable,
  handlerId: number,
  exceptLeaderId: number,
  leaseMs: number,
): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'wake-for-free-slots',
    text: `
update leader l set state = 1 /* working */, wake_at = null, blocked = false,
  expires_at = clock() + $3 * interval '1 ms', woken_at = clock()
from handler h
where ${OF_SHARERS} and l.handler_id = h.id and l.state = 2 /* waiting */ and l.blocked and l.wants_slots and l.id <> $2
  and ${SLOTS_TAKEN} < least(h.per_handler, h.allowed) and ${SHARED_FREE} ${WOKEN}`,
    values: [handlerId, exceptLeaderId, leaseMs],
  });
  return rows;
};

/**
 * Returns a leader that has due work and waits for its own dispatches to end: to be woken when one
 * of them gives up slots.
 */
export const findStarvedLeader = async (db: Queryable, leaderId: number): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'find-starved-leader',
    text: `
select l.id as "leaderId", h.name as handler, l.name, 0::float8 as "dueInMs", ${INSTALLATION} as installation
from leader l join handler h on h.id = l.handler_id
where l.id = $1 and l.state = 1 /* working */
  and exists (select from target t where t.leader_id = l.id and t.due_at <= clock() and not t.paused and not t.busy)`,
    values: [leaderId],
  });
  return rows;
};

/**
 * SQL that wakes every leader of handler $1 (or of its target $2) that has work, idle or waiting;
 * `orBusy`: calls in flight are work, too.
 */
export const wakingThoseWithWork = (orBusy: '' | 'or t.busy'): string => `
update leader l set state = 1 /* working */, wake_at = null, blocked = false,
  expires_at = clock() + $3 * interval '1 ms', woken_at = clock()
from handler h
where h.name = $1 and l.handler_id = h.id and l.state <> 1 /* working */ and exists (
  select from target t
  where t.leader_id = l.id and ($2::text is null or t.key = $2) and (t.due_at is not null ${orBusy}
    or exists (
      select from batch b
      where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is null))) ${WOKEN}`;

/**
 * Wakes, after a resume, every leader of the handler (or of one target) that has work, idle or
 * waiting.
 */
export const wakeResumedLeaders = async (
  db: Queryable,
  handler: string,
  key: string | null,
  leaseMs: number,
): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'wake-resumed-leaders',
    text: wakingThoseWithWork(''),
    values: [handler, key, leaseMs],
  });
  return rows;
};

/**
 * Wakes leaders whose lease has passed without a sign of life: their run died, or their wake was
 * lost. For the sweeper.
 */
export const wakeExpiredLeaders = async (
  db: Queryable,
  limit: number,
  leaseMs: number,
): Promise<(WokenLeader & SilentTurn)[]> => {
  const { rows } = await db.query<WokenLeader & SilentTurn>({
    name: 'wake-expired-leaders',
    text: `
update leader l set state = 1 /* working */, wake_at = null, blocked = false,
  expires_at = clock() + $2 * interval '1 ms',
  woken_at = case when l.state = 1 /* working */ then coalesce(l.woken_at, clock()) else clock() end
from handler h, leader o
where h.id = l.handler_id and o.id = l.id /* as it was */ and l.id in (
  select id
  from leader
  where state <> 0 /* idle */ and expires_at < clock()
  order by expires_at limit $1 for no key update skip locked) ${WOKEN}, l.epoch, l.turn, l.holder,
  case when o.state <> 0 /* idle */ and o.expires_at < clock() then (extract(
    epoch from clock() - coalesce(o.woken_at, o.expires_at - $2 * interval '1 ms')) * 1000)::float8
    else 0 end as "silentMs"`,
    values: [limit, leaseMs],
  });
  return rows;
};

/**
 * Silence after which a dispatch may be lost: one that runs gives a sign of life every few seconds.
 * One that still waits for its worker is silent too; its leader then takes a turn in vain.
 */
const DISPATCH_SILENT_MS = 30_000;

/**
 * Returns leaders whose dispatch holds an open batch and gives no sign of life: most likely it was
 * lost together with the run that started it, so that no end of it brings the leader back. For the
 * sweeper.
 */
export const findLostDispatches = async (db: Queryable, limit: number): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'find-lost-dispatches',
    text: `
select distinct l.id
from dispatch d join leader l on l.id = d.leader_id
where d.seen_at < clock() - ${DISPATCH_SILENT_MS} * interval '1 ms' and l.state <> 0 /* idle */ and exists (
  select from batch b
  where b.leader_id = d.leader_id and b.dispatch = d.no and b.state = 1 /* open */ and b.reference is null
    and not b.refused)
order by l.id limit $1`,
    values: [limit],
  });
  return rows.map(({ id }) => id);
};

/** Wakes those of these leaders that wait, before the time that they wait for. For the sweeper. */
export const wakeWaitingLeaders = async (
  db: Queryable,
  leaderIds: readonly number[],
  leaseMs: number,
): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'wake-waiting-leaders',
    text: `
update leader l set state = 1 /* working */, wake_at = null, blocked = false,
  expires_at = clock() + $2 * interval '1 ms', woken_at = clock()
from handler h
where h.id = l.handler_id and l.id = any($1::int[]) and l.state = 2 /* waiting */ ${WOKEN}`,
    values: [leaderIds, leaseMs],
  });
  return rows;
};

/**
 * Returns all leaders that work or wait, to be woken when a new version of the workers became the
 * current one.
 */
export const openLeaders = async (db: Queryable): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'open-leaders',
    text: `
select l.id as "leaderId", h.name as handler, l.name, 0::float8 as "dueInMs", ${INSTALLATION} as installation
  from leader l join handler h on h.id = l.handler_id
where l.state <> 0 /* idle */ order by l.id`,
  });
  return rows;
};
