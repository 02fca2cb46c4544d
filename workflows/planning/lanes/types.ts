import type { RateLimit } from '../limits/limits';
import type { LaneBatchStatus } from './statuses';

/**
 * What the queuer's planners read and return. All times are milliseconds from now by the database's
 * clock (null or <= 0: now), unless a field says otherwise. Nothing is kept between two plans: each
 * plan is made from rows read in the transaction that applies it.
 */

/**
 * Which side keeps the order. `guaranteed`: the downstream does, so that an accepted batch is as
 * good as committed. `non-guaranteed`: the queuer does.
 */
export const LANE_KINDS = { guaranteed: 0, 'non-guaranteed': 1 } as const;
export type LaneKind = keyof typeof LANE_KINDS;
/** Which batches of a lane may be pending at once. */
export const APPROACHES = { unconstrained: 0, serial: 1, parallel: 2 } as const;
export type ApproachName = keyof typeof APPROACHES;
/**
 * What an invalid batch does to its lane. `halt`: each batch depends on the batch before, so the
 * lane is served serially, whatever its kind and approach. A batch that was not applied halts the
 * lane until an operator skips or fixes it.
 */
export const ON_INVALID = { continue: 0, halt: 1 } as const;
type OnInvalid = keyof typeof ON_INVALID;
/** How the queuer shares its submitters among lanes. */
export const STRATEGIES = { single: 0, 'per-service': 1, 'one-round': 2, 'multi-round': 3 } as const;
export type StrategyName = keyof typeof STRATEGIES;

/** A lane batch that has not ended. */
export interface QueuedBatch {
  id: number;
  /**
   * Drawn at acceptance under the lane's row lock. Comparable across lanes: `single` serves by it.
   */
  sequence: number;
  /**
   * Orders the batches that share a sequence: a batch that was split off keeps the sequence of its
   * origin. 0 for a batch that shares it with none.
   */
  part: number;
  status: LaneBatchStatus;
  /** It was granted in order to look up its outcome, which was unknown at the grant. */
  resolving?: boolean;
  /**
   * State keys. If both are empty, no sets were declared, and the batch conflicts with every other
   * one.
   */
  reads: readonly string[];
  writes: readonly string[];
  /** Its sets were too large to be read: they are given as empty. Only for display. */
  keysUnread?: true;
  /** What it costs of its lane's weighted share: a whole number of at least 1. */
  weight: number;
  /**
   * Milliseconds before which it may not go: the window of a delayed batch (15 s), or the wait
   * before a retry. Null: it may go at once.
   */
  notBeforeInMs: number | null;
  /**
   * Explicit dependencies that have not ended; without those that the downstream has and keeps in
   * order itself.
   */
  waitsFor: readonly number[];
  /**
   * A dependency that ended in any way but committed, so that this batch fails without being sent;
   * null: none.
   */
  failedOn: number | null;
  /**
   * The batch's handler, if no live node has it, or none that holds the lane's partition; left out:
   * some node does.
   */
  unservedBy?: number;
  /** What it takes of its handler's limits; left out: the handler has none. */
  tokens?: BatchTokens;
}

export interface Lane {
  id: number;
  service: string;
  kind: LaneKind;
  approach: ApproachName;
  onInvalid: OnInvalid;
  /**
   * Its share of the submitters in `per-service`: a whole number of at least 1. A change counts
   * from the next grant on.
   */
  weight: number;
  /** See `Accounting`. A new lane has deficit 0 and served = round + `ROUND`. */
  deficit: number;
  served: number;
  paused: boolean;
  /**
   * The batch that halted the lane, because it is parked, or ended in halt mode without being
   * applied; null: the lane is not halted.
   */
  haltedBy: number | null;
  /** How long the downstream asked this service to wait (HTTP 429, Retry-After). */
  holdInMs: number | null;
  /** How many batches are submitted, pending or valid. */
  pending: number;
  /**
   * Limit of pending batches; null: none. `saturated` says that the limit holds the lane back: it
   * is stored with the lane, since the limit has a hysteresis.
   */
  pendingLimit: PendingLimit | null;
  saturated: boolean;
  /**
   * The first `windowOf(lane)` open batches, ordered by (sequence, part) and without a gap: every
   * open batch of the lane that comes before the last given one is given too.
   */
  open: readonly QueuedBatch[];
  /** The lane has open batches after those. */
  openMore: boolean;
  /** Its next batch waits for a limit of its handler (`LaneUpdate.heldBy`). Only for display. */
  held?: boolean;
}

/**
 * A limit with hysteresis: at `stopAt` pending batches no more are granted until fewer than
 * `resumeBelow` are pending (30 and 15, say).
 */
export interface PendingLimit {
  stopAt: number;
  resumeBelow: number;
}

export interface QueuerState {
  strategy: StrategyName;
  /** How many rounds `multi-round` plans at a time; at least 1. */
  depth: number;
  /**
   * The queuer's place, as the last plan left it: a whole number that starts at 0. `ROUND` places
   * make a round.
   */
  round: number;
  /** All lanes are paused. */
  paused: boolean;
  /**
   * The first of the `ready` lanes, as many as the caller chose to read, ordered by (served, id),
   * or for `single` by (sequence of what they send next, id). With `more`, no lane is served at a
   * place after the last given lane. Lanes with nothing to do are left out, so that a grant does
   * not pay for them.
   */
  lanes: readonly Lane[];
  /** There are more ready lanes than those given. */
  more: boolean;
  /**
   * The limits of the handlers whose batches are given, as far as they have limits; and for their
   * rates the time by the database's clock, in Unix milliseconds.
   */
  handlers?: readonly HandlerTokens[];
  nowMs?: number;
}

/** One batch for one submitter. */
export interface Grant {
  batchId: number;
  laneId: number;
  service: string;
  from: LaneBatchStatus;
  /**
   * `resolve`: the batch may have been sent before. It is looked up, or sent again if that is
   * idempotent, or else parked (`decideUnknown`).
   */
  purpose: 'send' | 'resolve';
  weight: number;
  /** Number of the queuer's round in which the lane is served. */
  round: number;
  /** Milliseconds until its handler's rate lets it start; 0: at once. */
  startInMs: number;
}

/**
 * The accounting of a lane, in whole numbers. `served` is the place at which the lane is due, at
 * least one round after its last turn, so that the least recently served lane comes first.
 * `deficit`, in batch weights, is what the lane may still send in this turn, or what it owes if
 * that is 0 or less.
 */
export interface Accounting {
  deficit: number;
  served: number;
}

/**
 * The new values of a lane that was given to the plan, to be stored in the transaction of the plan.
 */
export interface LaneUpdate extends Accounting {
  laneId: number;
  pending: number;
  saturated: boolean;
  haltedBy: number | null;
  /**
   * The lane has a batch that may go at once, hold and back pressure considered. The index over
   * ready lanes holds these; pause and halt are separate columns.
   */
  ready: boolean;
  /**
   * Milliseconds until the lane becomes ready by time alone. Null: an event (a commit, answer,
   * resume or submit) makes it ready.
   */
  dueInMs: number | null;
  /**
   * The handler for whose calls or weight in flight its next batch waits. The end of any of those
   * makes the lane ready. Null: none.
   */
  heldBy: number | null;
  /**
   * The handlers for whose nodes its next batches wait. A node with such a handler that joins, or
   * gets the lane's partition, makes the lane ready.
   */
  unservedBy: readonly number[];
}

/**
 * A batch that fails without being sent, because of the batch `on`: its status becomes
 * `failed-dependency`.
 */
export interface DependencyFailure {
  batchId: number;
  laneId: number;
  on: number;
}

export interface GrantPlan {
  /** The grants, in the order in which they are to start. */
  grants: Grant[];
  failures: DependencyFailure[];
  /** The lanes whose values differ from those given, or that are not ready or have a due time. */
  lanes: LaneUpdate[];
  round: number;
  /**
   * The new state of rates from which units were taken, to be stored: by id of the handler or
   * target.
   */
  paced: { handlers: ReadonlyMap<number, readonly number[]>; targets: ReadonlyMap<number, readonly number[]> };
  /**
   * Milliseconds until the first of the given lanes becomes ready by time alone; null: none does.
   */
  dueInMs: number | null;
  /**
   * Slots are left, and lanes were not given or served in full, or failures may have freed other
   * batches: the caller applies this plan, reads and plans again.
   */
  again: boolean;
}

/**
 * The limits of a handler besides the order of lanes: calls in flight, rates, and weight that the
 * downstream has not finished. A batch whose handler has no such limits goes as soon as its lane
 * lets it.
 */
export interface HandlerTokens {
  id: number;
  /** Most calls in flight; null: no limit. `perHandler` is what back pressure has left. */
  perTarget: number | null;
  perHandler: number | null;
  weightPerTarget: number | null;
  weightPerHandler: number | null;
  rates: readonly RateLimit[];
  /**
   * State of the rates with scope `handler`, in their order: Unix milliseconds before which nothing
   * more may start. A missing entry: the rate was never used.
   */
  paces: readonly number[];
  /**
   * How many calls are with submitters now, and the weight of the batches that were sent and have
   * not ended.
   */
  calls: number;
  weight: number;
  targets: readonly TargetTokens[];
}

/** What is in use of one target, and what is set for it (absent or null: the handler's count). */
export interface TargetTokens {
  id: number;
  paces: readonly number[];
  allowed?: number | null;
  perTarget?: number | null;
  weightPerTarget?: number | null;
  rates?: readonly RateLimit[] | null;
  calls: number;
  weight: number;
}

/** What a batch takes of its handler's limits. */
export interface BatchTokens {
  handlerId: number;
  targetId: number;
  n: number;
  weight: number;
}
