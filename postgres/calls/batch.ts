import type { Queryable } from '../pool';
import type { RateLimit } from '../../workflows/planning/limits/limits';
import type { SharedRate } from '../../workflows/planning/limits/sharing';
import { REPORTED_LOST } from '../../workflows/planning/calls/reportedLost';
import { DISPATCH_LIFE_MS } from '../grouping/alive';
import { createdUs } from '../created';
import { CALLS_OF_TARGET } from '../limits/inForce';
import { sharersWait } from '../limits/shared';
import { KEY_OF_BATCH } from './idempotencyKey';

/** Statements around one call: read, mark, defer. Settling is in `settle.ts`. */

export interface CarriedBatch {
  id: number;
  targetId: number;
  target: string;
  n: number;
  weight: number;
  epoch: number;
  attempt: number;
  counted: number;
  refusals: number;
  depth: number;
  parentId: number | null;
  /** Key under which the downstream may know it: its own, or its origin's if it was split off. */
  idempotencyKey: string;
  /** Unix microseconds. */
  createdUs: number;
  /** An earlier attempt was marked and never concluded: its outcome is unknown. */
  unconcluded: boolean;
  /** An operator's notice that the downstream lost it after accepting it; null: none. */
  reportedLost?: string | null;
  /** An earlier call may have been applied: the batch keeps its key, whatever happens. */
  unsure: boolean;
  /** In how many ms it may start (pacing, in-place waits); 0: now. */
  startInMs: number;
  /** When its first call was marked, by this process's `performance.now()`; null: never called. */
  firstCallAtMs: number | null;
  /** When its last call was marked, in the same way. */
  lastCallAtMs: number | null;
  /** How far the database's clock, at the read, was ahead of this process's `performance.now()`. */
  aheadMs: number;
  perTarget: number;
  /** Rates that were set at run time or are shared; null: those of the definition count. */
  ratesSet?: {
    handler: RateLimit[];
    target: RateLimit[] | null;
    shared: { name: string; rates: SharedRate[] } | null;
  } | null;
  /**
   * Back pressure left its target or its handler fewer calls; how often it had reduced each
   * (`Under`).
   */
  reduced: boolean;
  targetReductions: number;
  handlerReductions: number;
  handler: string;
  /** The batch is in a lane: no leader formed it. */
  inLane: boolean;
  /** Why it was closed: of `FLUSH_REASONS`. */
  reason: number;
  /**
   * Partition of its lane; null: any node may send it. For a batch outside of lanes its dispatch
   * names the partition.
   */
  partition: string | null;
}

/** The rates in force, where they are not those of the definition; null: they are. */
const RATES_SET = `case when t.rates is not null or h.limits ? 'rate' or h.shares is not null then json_build_object(
    'handler', h.rates, 'target', t.rates, 'shared', (
      select json_build_object('name', s.name, 'rates', s.rates)
      from shared_limit s
      where s.id = h.shares)) end`;

export const CARRIED = `
select b.id, b.target_id as "targetId", t.key as target, b.n, b.weight, b.epoch, b.attempt, b.counted, b.refusals,
  b.depth, b.parent_id as "parentId", ${KEY_OF_BATCH} as "idempotencyKey", ${createdUs('b')} as "createdUs",
  b.attempt_until is not null as unconcluded, b.unsure,
  case when b.reference is not null and b.attempt_until is not null and starts_with(b.error, '${REPORTED_LOST}')
    then b.error end as "reportedLost",
  (greatest(0, extract(epoch from b.retry_at - clock())) * 1000)::float8 as "startInMs",
  (extract(epoch from b.started_at) * 1000)::float8 as "firstCallAtMs",
  (extract(epoch from coalesce(b.called_at, b.started_at)) * 1000)::float8 as "lastCallAtMs", 
  least(${CALLS_OF_TARGET}, t.allowed) as "perTarget", ${RATES_SET} as "ratesSet",
  t.allowed is not null or h.allowed is not null as reduced, t.reductions as "targetReductions",
  h.reductions as "handlerReductions", h.name as handler, b.leader_id = 0 as "inLane", b.reason,
  (extract(epoch from clock()) * 1000)::float8 as "aheadMs", case when b.leader_id = 0 and h.partitions > 0 then (
    select n.partition
    from lane n
    where n.id = t.lane_id) end as partition
from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id`;

/**
 * Measures how far the database's clock is ahead of ours, right after a statement with `CARRIED`
 * has read it, and converts what it read by that clock.
 */
export const aheadOf = <T extends CarriedBatch>(rows: T[]): T[] => {
  const now = performance.now();
  for (const row of rows) {
    row.aheadMs -= now;
    if (row.firstCallAtMs !== null) row.firstCallAtMs -= row.aheadMs;
    if (row.lastCallAtMs !== null) row.lastCallAtMs -= row.aheadMs;
  }
  return rows;
};

/** Returns the batches of one dispatch, oldest first. */
export const readDispatch = async (db: Queryable, leaderId: number, no: number): Promise<CarriedBatch[]> => {
  const { rows } = await db.query<CarriedBatch>({
    name: 'read-dispatch',
    text: `${CARRIED} where b.leader_id = $1 and b.state = 1 /* open */ and b.dispatch = $2 order by b.id`,
    values: [leaderId, no],
  });
  return aheadOf(rows);
};

/** Returns accepted batches whose next status request is due, the longest unasked first. */
export const readAccepted = async (
  db: Queryable,
  handler: string,
  limit: number,
): Promise<
  (CarriedBatch & { reference: string; overdue: boolean; leaderId: number; deadlinesPassed: number | null })[]
> => {
  const { rows } = await db.query<
    CarriedBatch & { reference: string; overdue: boolean; leaderId: number; deadlinesPassed: number | null }
  >({
    name: 'read-accepted',
    text: `
select c.*, b.reference, b.leader_id as "leaderId", b.poll_until <= clock() as overdue,
  (select s.overdue from lane_batch s where s.batch_id = c.id) as "deadlinesPassed"
from (${CARRIED} where h.name = $1 and b.reference is not null and b.state = 1 /* open */
  and b.poll_at <= clock() order by b.poll_at limit $2) c join batch b on b.id = c.id
order by b.poll_at`,
    values: [handler, limit],
  });
  return aheadOf(rows);
};

/** Hands unstarted batches back to the store; the caller rings their targets. */
export const handBack = async (db: Queryable, ids: readonly number[], dispatch: number): Promise<number[]> => {
  const { rows } = await db.query<{ targetId: number }>({
    name: 'hand-back',
    text: `
update batch set dispatch = null
where id = any($1::bigint[]) and dispatch = $2 and state + 0 = 1 and attempt_until is null
returning target_id as "targetId"`,
    values: [ids, dispatch],
  });
  return [...new Set(rows.map((row) => row.targetId))];
};

/**
 * Renews a dispatch's sign of life and its slots. Returns whether another leader waits for slots;
 * `known` is false where the last sign is so old that its slots may have gone to another dispatch
 * (`reviveDispatch`).
 */
export const touchDispatch = async (
  db: Queryable,
  leaderId: number,
  no: number,
  slots: number,
  node: string,
): Promise<{ known: boolean; wanted: boolean; handlerId: number }> => {
  const { rows } = await db.query<{ wanted: boolean; handlerId: number }>({
    name: 'touch-dispatch',
    text: `
update dispatch d set seen_at = clock(), slots = least(d.slots, $3), node = $4
where d.leader_id = $1 and d.no = $2 and d.seen_at > clock() - interval '${DISPATCH_LIFE_MS} ms'
returning exists (select from leader l where l.handler_id = d.handler_id and l.blocked and l.wants_slots)
  or ${sharersWait('d.handler_id')} as wanted,
  d.handler_id as "handlerId"`,
    values: [leaderId, no, slots, node],
  });
  return { known: rows.length > 0, wanted: rows[0]?.wanted ?? false, handlerId: rows[0]?.handlerId ?? 0 };
};

/** Ends a dispatch and frees its slots. Returns its handler; null: the row was gone. */
export const endDispatch = async (db: Queryable, leaderId: number, no: number): Promise<number | null> => {
  const { rows } = await db.query<{ handlerId: number }>({
    name: 'end-dispatch',
    text: `delete from dispatch d where d.leader_id = $1 and d.no = $2 returning d.handler_id as "handlerId"`,
    values: [leaderId, no],
  });
  return rows[0]?.handlerId ?? null;
};

/**
 * Lets targets that this dispatch no longer holds back take part again; returns those that were
 * held.
 */
export const releaseTargets = async (db: Queryable, targetIds: readonly number[]): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'release-targets',
    text: `update target set busy = false where id = any($1::int[]) and busy returning id`,
    values: [targetIds],
  });
  return rows.map((row) => row.id);
};

/**
 * Makes the leader step down without a turn, when its only dispatch ends and no work is left.
 * Guarded: the leader has taken no turn since the claim that started this dispatch, and nothing
 * woke it.
 */
export const releaseLeader = async (db: Queryable, leaderId: number, epoch: number, turn: number): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'release-leader',
    text: `
update leader l set state = 0 /* idle */, wake_at = null, expires_at = null, blocked = false
where l.id = $1 and l.epoch = $2 and l.turn = $3 and l.state = 2 /* waiting */
  and not exists (select from target t where t.leader_id = l.id and t.due_at is not null and not t.paused)
  and not exists (select from target t where t.leader_id = l.id and t.busy) and not exists (
    select from batch b
    where b.leader_id = l.id and b.state = 1 /* open */ and b.reference is null and not b.refused)`,
    values: [leaderId, epoch, turn],
  });
  return rowCount === 1;
};

/**
 * Puts off a look-up that came too early to be believed: the attempt stays unconcluded, and the
 * next dispatch looks again.
 */
export const postponeLookUp = async (db: Queryable, id: number, attempt: number, inMs: number): Promise<void> => {
  await db.query({
    name: 'postpone-look-up',
    text: `update batch set dispatch = null, retry_at = clock() + $3 * interval '1 ms' where id = $1
      and attempt = $2 and state = 1 /* open */`,
    values: [id, attempt, inMs],
  });
};
