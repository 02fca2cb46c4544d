import type { LaneBatchStatus } from './statuses';

/**
 * What the queuer's planners read and return. All times are milliseconds from now by the database's
 * clock (null or <= 0: now). Nothing here is kept between two plans: each is made from rows read in
 * the transaction that applies it.
 */

/**
 * Which side keeps the order. guaranteed: the downstream does, so accepted is as good as committed.
 */
export const LANE_KINDS = { guaranteed: 0, 'non-guaranteed': 1 } as const;
export type LaneKind = keyof typeof LANE_KINDS;
/** Which batches of a lane may be pending at once. */
export const APPROACHES = { unconstrained: 0, serial: 1, parallel: 2 } as const;
export type ApproachName = keyof typeof APPROACHES;
/**
 * What an invalid batch does to its lane. halt: each batch depends on the one before, so the lane
 * is served serially whatever its kind and approach, and halts behind a batch that was not applied
 * until an operator skips or fixes it.
 */
export const ON_INVALID = { continue: 0, halt: 1 } as const;
type OnInvalid = keyof typeof ON_INVALID;
/** How the queuer shares its submitters among lanes. */
export const STRATEGIES = { single: 0, 'per-service': 1, 'one-round': 2, 'multi-round': 3 } as const;
export type StrategyName = keyof typeof STRATEGIES;

/** A batch in a lane that has not ended. */
export interface QueuedBatch {
  id: number;
  /**
   * Drawn at acceptance under the lane's row lock. Comparable across lanes: `single` goes by it.
   */
  sequence: number;
  /**
   * Order among batches of one sequence: a batch that is put back or split off keeps the sequence
   * of its batch. 0 if it is the only one.
   */
  part: number;
  status: LaneBatchStatus;
  /** Granted to look up its outcome, which was unknown at the grant. */
  resolving?: boolean;
  /** State keys. Both empty: nothing was declared, and the batch conflicts with every other. */
  reads: readonly string[];
  writes: readonly string[];
  /** Its cost in the weighted shares; whole, at least 1. */
  weight: number;
  /** Ms before which it does not go: the window of a delayed one (15 s), a retry. Null: at once. */
  notBeforeInMs: number | null;
  /**
   * Explicit dependencies that have not ended; without those that the downstream has and keeps in
   * order itself.
   */
  waitsFor: readonly number[];
  /** A dependency that ended in any way but committed: this batch fails without being sent. */
  failedOn: number | null;
  /** The handler that no live node has, or no node in the lane's partition; left out: one does. */
  unservedBy?: number;
  /** What it takes of its handler's limits; left out: its handler has none. */
  tokens?: BatchTokens;
}

export interface Lane {
  id: number;
  service: string;
  kind: LaneKind;
  approach: ApproachName;
  onInvalid: OnInvalid;
  /** Share of the submitters in `per-service`; whole, at least 1; counts from the next grant on. */
  weight: number;
  /** See `Accounting`. A new lane has deficit 0 and served = round + `ROUND`. */
  deficit: number;
  served: number;
  paused: boolean;
  /** The batch that halted the lane: parked, or ended unapplied in halt mode. */
  haltedBy: number | null;
  /** The downstream asked this service to wait (429, Retry-After). */
  holdInMs: number | null;
  /** Batches that are submitted, pending or valid. */
  pending: number;
  /**
   * Limit of pending batches: null = none. `saturated` is the memory of the hysteresis and is
   * stored with the lane.
   */
  pendingLimit: PendingLimit | null;
  saturated: boolean;
  /**
   * The first open batches in order (sequence, part), without a gap: no open batch of the lane
   * comes before the last one given. How many: `windowOf(lane)`. One suffices for a serial lane
   * that is not guaranteed.
   */
  open: readonly QueuedBatch[];
  /** There are open batches after those. */
  openMore: boolean;
  /** Its next batch waits for a limit of its handler (`LaneUpdate.heldBy`); only shown. */
  held?: boolean;
}

/**
 * At `stopAt` pending batches nothing more is granted until there are fewer than `resumeBelow` (30
 * and 15, say).
 */
export interface PendingLimit {
  stopAt: number;
  resumeBelow: number;
}

export interface QueuerState {
  strategy: StrategyName;
  /** Rounds planned at a time by `multi-round`; at least 1. */
  depth: number;
  /**
   * The queuer's place, as the last plan left it; starts at 0. Whole; `ROUND` places are a round.
   */
  round: number;
  /** Everything is paused. */
  paused: boolean;
  /**
   * Lanes that are `ready`, by (served, id) and as many as there are slots; for `single` by the
   * sequence of their first batch that is not in flight. Order and limit are exact: with `more`, no
   * lane after the last one given is granted. Lanes with nothing to do are not among them, so that
   * a grant does not pay for them.
   */
  lanes: readonly Lane[];
  /** There are more ready lanes than were given. */
  more: boolean;
  /**
   * Tokens of the handlers with limits whose batches are among those given; and the database's
   * clock as Unix ms, for their rates.
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
   * resolve: it may have been sent before; look it up, or send it again if idempotent, else park it
   * (`decideUnknown`).
   */
  purpose: 'send' | 'resolve';
  weight: number;
  /** Number of the queuer's round in which it is served. */
  round: number;
  /** Ms until its handler's rate lets it start; 0: at once. */
  startInMs: number;
}

/**
 * A lane's turn. `served` is the place at which it is due, that of its last turn and at least a
 * round more: by it the least recently served lane comes first. `deficit` is what it may still send
 * in this turn, or what it owes if not above 0, in batch weights. Whole numbers.
 */
export interface Accounting {
  deficit: number;
  served: number;
}

/** New values of a lane that was given to the plan, to be stored in its transaction. */
export interface LaneUpdate extends Accounting {
  laneId: number;
  pending: number;
  saturated: boolean;
  haltedBy: number | null;
  /**
   * Has a batch that may go at once, hold and back pressure considered: what the index over ready
   * lanes holds. Pause and halt have columns of their own in the row.
   */
  ready: boolean;
  /**
   * Ms until it becomes ready by time alone. Null: an event (commit, answer, resume, submit) makes
   * it ready.
   */
  dueInMs: number | null;
  /**
   * The handler for whose calls or weight in flight its next batch waits: the end of any of those
   * makes it ready. Null: none.
   */
  heldBy: number | null;
  /**
   * The handlers for whose nodes its next batches wait: a node of any of them that joins, or gets
   * the lane's partition, makes it ready.
   */
  unservedBy: readonly number[];
}

/** A batch that fails without being sent: status failed-dependency. */
export interface DependencyFailure {
  batchId: number;
  laneId: number;
  on: number;
}

export interface GrantPlan {
  /** In the order in which they are to start. */
  grants: Grant[];
  failures: DependencyFailure[];
  /** Only lanes whose values differ from those given, or that are not ready. */
  lanes: LaneUpdate[];
  round: number;
  /** Units taken of rates, to be stored: of handlers and targets by id. */
  paced: { handlers: ReadonlyMap<number, readonly number[]>; targets: ReadonlyMap<number, readonly number[]> };
  /** The earliest time at which one of the lanes given may go without an event. */
  dueInMs: number | null;
  /**
   * Slots are left and lanes were not given, or failures may have freed others: apply, read and
   * plan again.
   */
  again: boolean;
}

/**
 * What handlers allow besides the order of lanes: calls in flight, rates, weight that the
 * downstream has not finished. Only handlers that set such limits; a batch of any other goes as its
 * lane lets it.
 */
export interface HandlerTokens {
  id: number;
  /** Null: no limit. The handler's is as back pressure left it. */
  perTarget: number | null;
  perHandler: number | null;
  weightPerTarget: number | null;
  weightPerHandler: number | null;
  rates: readonly { limit: number; perMs: number; unit: 'calls' | 'items' | 'weight'; scope: 'target' | 'handler' }[];
  /**
   * State of the rates with scope handler, in their order: Unix ms before which nothing more may
   * start; missing: never used.
   */
  paces: readonly number[];
  /** Calls with submitters now, and the weight of what was sent and has not ended. */
  calls: number;
  weight: number;
  targets: readonly { id: number; paces: readonly number[]; allowed?: number | null; calls: number; weight: number }[];
}

/** What a batch takes of them. */
export interface BatchTokens {
  handlerId: number;
  targetId: number;
  n: number;
  weight: number;
}
