import type { SubmissionStatus } from './statuses';

/**
 * What the queuer's planners read and answer. All times are milliseconds from now by the database's
 * clock (null or <= 0: now). Nothing here is kept between two plans: each is made from rows read in
 * the transaction that applies it.
 */

/**
 * Who keeps the order (C14, C15). guaranteed: the downstream does, so accepted is as good as
 * committed.
 */
export const LANE_KINDS = { guaranteed: 0, 'non-guaranteed': 1 } as const;
export type LaneKind = keyof typeof LANE_KINDS;
/** C25. */
export const APPROACHES = { unconstrained: 0, serial: 1, parallel: 2 } as const;
export type ApproachName = keyof typeof APPROACHES;
/**
 * What an invalid batch does to its lane (C19). halt: each batch depends on the one before, so the
 * lane is served serially whatever its kind and approach, and halts behind a batch that was not
 * applied until an operator skips or fixes it.
 */
export const ON_INVALID = { continue: 0, halt: 1 } as const;
type OnInvalid = keyof typeof ON_INVALID;
/** C21-C24. */
export const STRATEGIES = { single: 0, 'per-service': 1, 'one-round': 2, 'multi-round': 3 } as const;
export type StrategyName = keyof typeof STRATEGIES;

/** A batch in a lane that has not ended. */
export interface QueuedBatch {
  id: number;
  /**
   * Drawn at acceptance under the lane's row lock (C27). Comparable across lanes: `single` goes by
   * it.
   */
  sequence: number;
  /**
   * Order among batches of one sequence: what is put back or split keeps the sequence of its batch.
   * 0 where there is one.
   */
  part: number;
  status: SubmissionStatus;
  /** Submitted, but to find out what became of it: its outcome was unknown when it was granted. */
  resolving?: boolean;
  /**
   * State keys (C25). Both empty: nothing was declared, and the batch conflicts with every other.
   */
  reads: readonly string[];
  writes: readonly string[];
  /** Its cost in the weighted shares; whole, at least 1. */
  weight: number;
  /** Not before then: the window of a delayed one (15 s), a retry. Null: at once. */
  notBeforeInMs: number | null;
  /** Explicit dependencies that have not ended (C18). */
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
   * Back pressure: null = no limit. `saturated` is the memory of the hysteresis and is stored with
   * the lane.
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
  /** Its next batch waits for a limit of its handler (`LaneUpdate.heldBy`); for who looks at it. */
  held?: boolean;
}

/**
 * At `stopAt` pending nothing more is granted until they are fewer than `resumeBelow` (30 and 15:
 * spec table).
 */
export interface PendingLimit {
  stopAt: number;
  resumeBelow: number;
}

export interface QueuerState {
  strategy: StrategyName;
  /** Rounds planned at a time by `multi-round` (C24); at least 1. */
  depth: number;
  /**
   * The queuer's place, as the last plan left it; starts at 0. Whole; `ROUND` places are a round.
   */
  round: number;
  /** Everything is paused. */
  paused: boolean;
  /**
   * Lanes that are `ready`, by (served, id) and as many as there are slots; for `single` by the
   * sequence of their first batch that is not in flight. Order and limit are exact: with `more`,
   * nobody is granted who comes after the last lane given. Lanes with nothing to do are not among
   * them, so that a grant does not pay for them.
   */
  lanes: readonly Lane[];
  /** There are more ready lanes than were given. */
  more: boolean;
  /**
   * Of handlers with limits whose batches are among those given; and the database's clock as Unix
   * ms, for their rates.
   */
  handlers?: readonly HandlerTokens[];
  nowMs?: number;
}

/** One batch for one submitter (C2). */
export interface Grant {
  batchId: number;
  laneId: number;
  service: string;
  from: SubmissionStatus;
  /**
   * resolve: it may have been sent before; look it up, or send it again if idempotent, else park it
   * (`decideUnknown`, C28).
   */
  purpose: 'send' | 'resolve';
  weight: number;
  /** Number of the queuer's round in which it is served. */
  round: number;
  /** Its handler's rate lets it start then; 0: at once. */
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
   * lanes holds. Pause and halt have columns of their own.
   */
  ready: boolean;
  /**
   * It becomes ready by time alone then. Null: an event (commit, answer, resume, submit) makes it
   * ready.
   */
  dueInMs: number | null;
  /**
   * The handler for whose calls or weight in flight its next batch waits: whatever of that ends
   * makes it ready. Null: for none.
   */
  heldBy: number | null;
  /**
   * The handlers for whose nodes its next batches wait: a node of any of them that joins, or gets
   * the lane's partition, makes it ready.
   */
  unservedBy: readonly number[];
}

/** Fails without being sent (C18): status failed-dependency. */
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
  /** What was taken of rates, to be stored: of handlers and targets by id. */
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
 * `planGrants(state, slots)`: who is sent next, for that many free submitters. Pure; the same input
 * gives the same plan. Apply it in the transaction that read the state, with the lane rows locked:
 * grants become `submitted`, failures `failed-dependency`.
 */
export type PlanGrants = (state: QueuerState, slots: number) => GrantPlan;

/**
 * What handlers allow beside the order of lanes (G1, G4, H6): calls in flight, rates, weight that
 * the downstream has not done with. Only of handlers that set such limits; a batch of any other
 * goes as its lane lets it.
 */
export interface HandlerTokens {
  id: number;
  /** Null: no limit. Of the handler: as back pressure left it (H5). */
  perTarget: number | null;
  perHandler: number | null;
  weightPerTarget: number | null;
  weightPerHandler: number | null;
  rates: readonly { limit: number; perMs: number; unit: 'calls' | 'items' | 'weight'; scope: 'target' | 'handler' }[];
  /**
   * Of the rates with scope handler, in their order: Unix ms before which nothing more may start;
   * missing: never used.
   */
  paces: readonly number[];
  /** With submitters now, and the weight of what was sent and has not ended. */
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
