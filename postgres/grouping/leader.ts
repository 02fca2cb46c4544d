import type { Backlog } from '../../workflows/planning/grouping/leaderDetails';
import type { RateLimit } from '../../workflows/planning/limits/limits';
import { INSTALLATION } from '../installation';
import type { Queryable } from '../pool';

/**
 * The run that took the last turn of a leader or queuer, and what it was answered. Times are Unix
 * ms of the database's clock.
 */
export interface LastRun {
  holder: string | null;
  runStartedAtMs: number | null;
  epoch: number;
  turn: number;
  answer: unknown;
  wakeAtMs: number | null;
  nowMs: number;
}

/** The limits of a batch, as a handler's row keeps them. */
export interface StoredLimits {
  maxItems: number;
  maxBytes: number | null;
  overheadBytes: number;
  maxWeight: number | null;
  minItems: number;
  lingerMs: number;
  quietMs: number | null;
}

/** A leader and its handler, locked until the transaction ends. */
export interface LockedLeader extends LastRun {
  handlerId: number;
  handler: string;
  name: string;
  /** Short name of the store's installation. */
  installation: string;
  state: number;
  paused: boolean;
  handlerHoldMs: number | null;
  limits: StoredLimits;
  perTarget: number;
  perHandler: number;
  allowed: number | null;
  weightPerTarget: number | null;
  weightPerHandler: number | null;
  rates: RateLimit[];
  paces: number[];
  /** How often the rates of the handler, or of targets, were changed at run time. */
  rateChanges: number;
  /** The limit that the handler shares with others; null: none. */
  shares: number | null;
  keyed: boolean;
  coalesces: boolean;
  /** Longest that one call may take. */
  timeoutMs: number;
  /** 0: any node makes its calls. */
  partitions: number;
}

const LEADER = `
select h.id as "handlerId", h.name as handler, l.name, ${INSTALLATION} as installation, l.state, l.holder,
  (extract(epoch from l.run_started_at) * 1000)::float8 as "runStartedAtMs", l.epoch, l.turn, l.answer,
  (extract(epoch from l.wake_at) * 1000)::float8 as "wakeAtMs", (extract(epoch from clock()) * 1000)::float8 as "nowMs",
  h.paused_at is not null as paused,
  case when h.hold_until > clock() then (extract(epoch from h.hold_until) * 1000)::float8 end as "handlerHoldMs",
  json_build_object(
    'maxItems', h.max_items, 'maxBytes', h.max_bytes, 'overheadBytes', h.overhead_bytes, 'maxWeight', h.max_weight,
    'minItems', h.min_items, 'lingerMs', h.linger_ms, 'quietMs', h.quiet_ms) as limits, h.per_target as "perTarget",
  h.per_handler as "perHandler", h.allowed, h.weight_per_target as "weightPerTarget",
  h.weight_per_handler as "weightPerHandler", h.rates, h.paces, h.keyed, h.coalesces,
  h.timeout_ms as "timeoutMs", h.partitions, h.rate_changes as "rateChanges", h.shares
from leader l join handler h on h.id = l.handler_id
where l.id = $1 for no key update of`;

/** Locks the leader's row. Null: no such leader. */
export const lockLeader = async (db: Queryable, leaderId: number): Promise<LockedLeader | null> => {
  const { rows } = await db.query<LockedLeader>({ name: 'lock-leader', text: `${LEADER} l`, values: [leaderId] });
  return rows[0] ?? null;
};

/**
 * Locks the leader's row, then its handler's: the leaders of one handler take its tokens one after
 * another.
 */
export const lockLeaderAndHandler = async (db: Queryable, leaderId: number): Promise<LockedLeader | null> => {
  const { rows } = await db.query<LockedLeader>({
    name: 'lock-leader-and-handler',
    text: `${LEADER} l, h`,
    values: [leaderId],
  });
  return rows[0] ?? null;
};

/** What a run writes at the end of a turn. */
export interface TurnEnd {
  runId: string;
  runStartedAtMs: number;
  epoch: number;
  turn: number;
  state: number;
  wakeAtMs: number | null;
  answer: unknown;
  leaseMs: number;
}

export interface LeaderTurnEnd extends TurnEnd {
  leaderId: number;
  blocked: boolean;
  wantsSlots: boolean;
  lastReason: number | null;
}

/**
 * Ends a turn: writes what the leader does next, and the answer that a repeat of this turn gets.
 * `lockLeader` has locked the row.
 */
export const publishTurn = async (db: Queryable, p: LeaderTurnEnd): Promise<void> => {
  await db.query({
    name: 'publish-turn',
    text: `
update leader set state = $2::smallint, wake_at = to_timestamp($3::float8 / 1000), blocked = $4, holder = $5,
  run_started_at = to_timestamp($6::float8 / 1000),
  acquired_at = case when epoch = $7 then acquired_at else clock() end, epoch = $7, turn = $8, answer = $9,
  expires_at = case when $2::smallint <> 0 /* idle */ then greatest(clock(),
    to_timestamp($3::float8 / 1000)) + $10 * interval '1 ms' end,
  last_reason = coalesce($11, last_reason), wants_slots = $12, woken_at = null
where id = $1`,
    values: [
      p.leaderId,
      p.state,
      p.wakeAtMs,
      p.blocked,
      p.runId,
      p.runStartedAtMs,
      p.epoch,
      p.turn,
      JSON.stringify(p.answer),
      p.leaseMs,
      p.lastReason,
      p.wantsSlots,
    ],
  });
};

/**
 * Says whether something is due earlier than what the leader now waits for. Call it after the
 * publication's commit, in a new snapshot.
 */
export const isDueEarlier = async (db: Queryable, leaderId: number): Promise<boolean> => {
  const { rows } = await db.query<{ earlier: boolean }>({
    name: 'is-due-earlier',
    text: `
select l.state <> 1 /* working */ and not l.blocked and exists (
  select from target t
  where t.leader_id = l.id and t.due_at is not null and not t.paused and not t.busy and h.paused_at is null
    and greatest(t.due_at, h.hold_until) < coalesce(l.wake_at, 'infinity')) as earlier
from leader l join handler h on h.id = l.handler_id
where l.id = $1`,
    values: [leaderId],
  });
  return rows[0]?.earlier ?? false;
};

/** The last turn that was taken: a leader or queuer whose turn differs has made progress. */
export interface LastTurn {
  epoch: number;
  turn: number;
}

/** One that the sweeper wakes: the run that took the last turn, and how long it has been silent. */
export interface SilentTurn extends LastTurn {
  holder: string | null;
  silentMs: number;
}

/**
 * Shortest time between two renewals: wakes and claims write the same row, so not every sign of
 * life does.
 */
const KEEP_AFTER_MS = 2_000;

/**
 * Renews the lease of a leader that waits for the slots of a running dispatch, which is a sign of
 * life: the sweeper need not wake the leader. Not where a wake was written (its lease is shorter,
 * and a lost wake must be repeated), nor for an earlier leader's dispatch.
 */
export const keepLeader = async (db: Queryable, leaderId: number, epoch: number, leaseMs: number): Promise<void> => {
  await db.query({
    name: 'keep-leader',
    text: `
update leader set expires_at = clock() + $3 * interval '1 ms'
where id = $1 and epoch = $2 and state = 1 /* working */ and woken_at is null
  and expires_at < clock() + ($3 - ${KEEP_AFTER_MS}) * interval '1 ms'`,
    values: [leaderId, epoch, leaseMs],
  });
};

/** Counts what waits in the queues of a leader's targets, up to `most`: for the Web UI. */
export const countBacklog = async (db: Queryable, leaderId: number, most: Backlog): Promise<Backlog> => {
  const { rows } = await db.query<Backlog>({
    name: 'count-backlog',
    text: `
select (
  select count(*)::int
  from (select from target t where t.leader_id = $1 and t.due_at is not null and not t.paused limit $2) t) as targets,
  (select count(*)::int
   from (
     select from target t join queue q on q.target_id = t.id
     where t.leader_id = $1 and t.due_at is not null and not t.paused limit $3) q) as tasks`,
    values: [leaderId, most.targets, most.tasks],
  });
  return rows[0]!;
};
