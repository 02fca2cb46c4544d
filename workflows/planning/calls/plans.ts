import type { FlushReason } from '../states';

/**
 * What the planners take and return. Times are milliseconds of the database's clock, passed in:
 * planners have no clock.
 */

/** A ready task in the queue of one target. */
export interface WaitingTask {
  seq: number;
  /** Lower goes first. */
  priority: number;
  bytes: number;
  weight: number;
  readyAtMs: number;
  /** `distinctBy` of the handler; null: it has none. */
  key: string | null;
}

export interface BatchLimits {
  maxItems: number;
  maxBytes?: number;
  overheadBytes: number;
  maxWeight?: number;
  minItems: number;
  lingerMs: number;
  quietPeriodMs?: number;
}

/** Input of `cutBatches`: one target's queue. */
export interface CutInput {
  /** In claim order: (priority, seq). A prefix of the queue. */
  tasks: readonly WaitingTask[];
  /** The queue holds more than `tasks`. */
  more: boolean;
  limits: BatchLimits;
  /** Manual flush: tasks with a seq up to this are due now. */
  flushSeq: number | null;
  /**
   * distinctBy keys that a live task holds, with that task's seq (a retried task holds its own
   * key).
   */
  busyKeys: ReadonlyMap<string, number>;
  /** How many batches may be taken now, and how much weight may still go in flight. */
  maxBatches: number;
  weightLeft: number;
  /**
   * All that may ever be in flight (`maxWeightInFlight`); to be given whenever `weightLeft` is
   * finite: no batch of several is cut heavier, or it could never go.
   */
  weightBudget?: number;
}

export interface CutBatch {
  seqs: number[];
  reason: FlushReason;
  bytes: number;
  weight: number;
}

export interface CutPlan {
  batches: CutBatch[];
  /**
   * When the next batch of what remains is due: later than now, except that it is now if `blocked`
   * or `readMore`; null: nothing waits, or only on busy keys.
   */
  dueAtMs: number | null;
  /** Something is due but may not be taken now (with `more`: may be due, as not all was read). */
  blocked: 'slots' | 'weight' | null;
  /**
   * The rest of the prefix fills no batch and the queue holds more: read a longer prefix (or pass
   * `more: false` to cut from this one alone).
   */
  readMore: boolean;
}

/** One member whose end differs from `ok`. `index` is its place in the batch. */
export interface Deviant {
  index: number;
  status: 'retry' | 'failed' | 'unknown';
  error?: string;
  retryAfterMs?: number;
}

/** The outcome of one call, after the answer was read, checked and classified. */
export type CallOutcome =
  | { kind: 'results'; deviants: Deviant[] }
  | { kind: 'accepted'; reference: string }
  | { kind: 'later'; retryAfterMs?: number; scope: 'target' | 'handler'; error: string }
  | { kind: 'rejected'; error: string }
  /** `scope`: only its target is to be paused. Left out: the handler. */
  | { kind: 'halted'; error: string; scope?: 'target' }
  | { kind: 'unknown'; error: string };

/** Input of `decideSettlement` besides the outcome. */
export interface SettlementContext {
  /** Counted attempts of each member before this call. */
  attempts: readonly number[];
  maxAttempts: number;
  idempotency: 'none' | { by: 'batch' | 'task'; windowMs?: number };
  onUnknown: 'park' | 'resend';
  /**
   * The handler has a `reconcile`. For a whole batch of unknown outcome the caller tries it before
   * it asks for a settlement.
   */
  canReconcile: boolean;
  bisect: boolean;
  delayed: { baseMs: number; maxMs: number };
  inPlace: { times: number; baseMs: number };
  /** 0 for a batch cut from the queue; each split adds one. */
  depth: number;
  /** Only at depth 1: the outcome of the other half so far. */
  sibling: 'pending' | 'refused' | 'other' | null;
  /** Calls of this batch refused for now in a row, not counting this one. */
  refusals: number;
  /** Time since this batch's first call: compared with the idempotency window. */
  ageMs: number;
  /** Uniform in [0, 1): jitter. */
  random: () => number;
}

/** A member that leaves its batch because its end differs. */
export type MemberEnd =
  | { index: number; to: 'failed' | 'dead' | 'cancelled'; error: string }
  | { index: number; to: 'retry'; inMs: number; error: string }
  /**
   * `parked`: it stays unknown although the batch's other unknown members are sent again, since it
   * has no attempt left.
   */
  | { index: number; to: 'unknown'; error: string; parked?: true };

/** What is written; exactly one of these per call. */
export type Settlement =
  /**
   * The batch ends: members not named in `ends` share `state`. `resend`: its unknown members go
   * again as a separate batch (same task keys).
   */
  | {
      kind: 'finish';
      state: 'succeeded' | 'failed';
      error?: string;
      ends: MemberEnd[];
      unknown: 'park' | 'resend' | 'reconcile';
      /** With `resend`: ms before which it does not go. Left out: at once. */
      unknownInMs?: number;
    }
  | { kind: 'accept'; reference: string }
  /**
   * The same batch again after `inMs`; until then `hold` holds back the target, the whole handler,
   * or the batch's lane. `inPlace`: the activity waits itself.
   */
  | { kind: 'wait'; inMs: number; hold: 'target' | 'handler' | 'lane'; inPlace: boolean; error: string }
  /** Two halves, each a separate batch. */
  | { kind: 'split'; at: number; error: string }
  /** Depth 1 and refused, the other half not known yet: wait for it. */
  | { kind: 'await-sibling'; error: string }
  /**
   * Pauses the handler, or only the target, with this reason; the members are created again, no
   * attempt counted.
   */
  | { kind: 'halt'; reason: string; scope?: 'target' }
  /**
   * Unknown outcome: send the same batch again with the same keys after `inMs` (attempt counted).
   */
  | { kind: 'resend'; inMs: number; error: string }
  | { kind: 'park'; error: string };

/** The paced rate limit's state: GCRA, the time before which nothing more may go. */
export interface Pace {
  limit: number;
  perMs: number;
  nextAtMs: number;
}
