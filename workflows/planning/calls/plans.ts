import type { FlushReason } from '../states';

/**
 * Inputs and results of the planners. Times are Unix milliseconds of the database's clock, passed
 * in: planners have no clock.
 */

/** A ready task in the queue of one target. */
export interface WaitingTask {
  seq: number;
  bytes: number;
  weight: number;
  readyAtMs: number;
  /**
   * The task's key by the handler's `distinctBy`, or (behind `COALESCE_PREFIX`) `coalesceBy`; null:
   * the handler has neither.
   */
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
  /** A manual flush makes tasks up to this seq due now; null: there is none. */
  flushSeq: number | null;
  /**
   * The `distinctBy` keys that live tasks hold, with the seq of the holder. A retried task holds
   * its own key.
   */
  busyKeys: ReadonlyMap<string, number>;
  /** How many batches may be cut now, and how much more weight may be in flight. */
  maxBatches: number;
  weightLeft: number;
  /**
   * The most weight that may ever be in flight (`maxWeightInFlight`). Required whenever
   * `weightLeft` is finite: a batch of several tasks is never cut heavier, or it could never be
   * sent.
   */
  weightBudget?: number;
  /**
   * Of tasks with one key only the last is sent (`coalesceBy`), and a batch goes when so many wait
   * for it, those included that are not sent. Absent: all are sent.
   */
  mostCollected?: number;
}

export interface CutBatch {
  seqs: number[];
  /** Those of `seqs`, in that order: the tasks that were given. */
  tasks: readonly WaitingTask[];
  reason: FlushReason;
  bytes: number;
  weight: number;
  /** Tasks that end with the cut since they are not sent. Absent: none does. */
  superseded?: Superseded[];
}

/** A task that is not sent, since a later one with its key goes for it. */
export interface Superseded {
  seq: number;
  by: number;
}

export interface CutPlan {
  batches: CutBatch[];
  /**
   * When the next batch of the remaining tasks is due: now if `blocked` or `readMore`, otherwise
   * later than now. Null: no task waits, or all of them wait for busy keys.
   */
  dueAtMs: number | null;
  /**
   * What keeps a due batch from being cut now. With `more`, that batch is perhaps not due, since
   * not all of the queue was read.
   */
  blocked: 'slots' | 'weight' | null;
  /**
   * The rest of the prefix fills no batch, and the queue holds more: the caller reads a longer
   * prefix, or passes `more: false` to cut from this one alone.
   */
  readMore: boolean;
}

/** A member whose result is not `ok`. `index` is its place in the batch, from 0. */
export interface Deviant {
  index: number;
  status: 'retry' | 'failed' | 'unknown';
  error?: string;
  retryAfterMs?: number;
}

/** The outcome of one call, after its answer was read, checked and classified. */
export type CallOutcome =
  | { kind: 'results'; deviants: Deviant[] }
  | { kind: 'accepted'; reference: string }
  | { kind: 'later'; retryAfterMs?: number; scope: 'target' | 'handler'; error: string }
  | { kind: 'rejected'; error: string }
  /**
   * Not sent: some of its payloads cannot be decoded, while others of its handler can.
   * `isLasting`: its handler refuses one of them, which trying again cannot change.
   */
  | { kind: 'unreadable'; error: string; isLasting?: boolean }
  /** `scope`: pause only the batch's target. Left out: pause the handler. */
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
   * The handler has a `reconcile`. If the outcome of the whole batch is unknown, the caller looks
   * it up before it asks for a settlement.
   */
  canReconcile: boolean;
  bisect: boolean;
  delayed: { baseMs: number; maxMs: number };
  inPlace: { times: number; baseMs: number };
  /** The outcome of the other half of a first split so far; null: the batch is none. */
  sibling: 'pending' | 'refused' | 'other' | null;
  /** How many calls in a row before this one were refused for now. */
  refusals: number;
  /** Milliseconds since this batch's first call, to compare with the idempotency window. */
  ageMs: number;
  /** Returns a number uniform in [0, 1), for jitter. */
  random: () => number;
}

/** A member that leaves its batch, because it ends differently. */
export type MemberEnd =
  | { index: number; to: 'failed' | 'dead' | 'cancelled'; error: string }
  | { index: number; to: 'retry'; inMs: number; error: string }
  /**
   * `parked`: the member stays unknown while the batch's other unknown members are sent again,
   * because it has no attempt left.
   */
  | { index: number; to: 'unknown'; error: string; parked?: true };

/** What the store records after a call: exactly one of these. */
export type Settlement =
  /**
   * The batch ends: members not named in `ends` share `state`. `resend`: its unknown members are
   * sent again as a separate batch, under the same task keys.
   */
  | {
      kind: 'finish';
      state: 'succeeded' | 'failed';
      error?: string;
      ends: MemberEnd[];
      unknown: 'park' | 'resend' | 'reconcile';
      /** With `resend`: milliseconds before that batch may be sent. Left out: at once. */
      unknownInMs?: number;
    }
  | { kind: 'accept'; reference: string }
  /**
   * The same batch is sent again after `inMs`. Until then `hold` holds back the target, the whole
   * handler, or the batch's lane. `inPlace`: the running activity does the waiting.
   */
  | { kind: 'wait'; inMs: number; hold: 'target' | 'handler' | 'lane'; inPlace: boolean; error: string }
  /**
   * The batch is split into two halves, each a separate batch; the second one begins at `at`.
   * `counts` false: it was not sent, which costs no attempt.
   */
  | { kind: 'split'; at: number; error: string; counts?: false }
  /** A half of the first split was refused: wait for the outcome of the other half. */
  | { kind: 'await-sibling'; error: string }
  /**
   * The handler, or only the target, is paused with this reason. The members return to `created`,
   * without a counted attempt.
   */
  | { kind: 'halt'; reason: string; scope?: 'target' }
  /**
   * The outcome is unknown: the same batch is sent again with the same keys after `inMs`, with a
   * counted attempt.
   */
  | { kind: 'resend'; inMs: number; error: string }
  | { kind: 'park'; error: string };

/**
 * The state of a paced rate limit (GCRA) of `limit` units per `perMs` milliseconds: no further call
 * may start before `nextAtMs`.
 */
export interface Pace {
  limit: number;
  perMs: number;
  nextAtMs: number;
}
