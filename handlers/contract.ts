/**
 * What passes between Muster and a downstream (`spec/handlers.md`, H1-H11). A leaf: everything may
 * import it. Every duration is in milliseconds.
 */

/** One task as a handler sees it, in the order in which it stands in the batch. */
export interface BatchTask<P = unknown> {
  /**
   * The caller's id, globally unique (A1). With `idempotency: {by: 'task'}` it is the task's
   * idempotency key.
   */
  readonly id: string;
  /** As the handler's schema has made it, from what is stored. */
  readonly payload: P;
  /** Counted attempts before this one (G2). */
  readonly attempts: number;
}

/** What `submit` gets: an immutable, bounded set of tasks of one target, in arrival order (A15). */
export interface Batch<P = unknown> {
  /** Its number, as `muster batch` shows it. */
  readonly id: string;
  readonly handler: string;
  /** The key that all its tasks have. */
  readonly target: string;
  readonly tasks: readonly BatchTask<P>[];
  /**
   * The leader's epoch and this call's attempt number: a downstream that keeps the highest can
   * refuse older ones.
   */
  readonly epoch: number;
  readonly attempt: number;
  /**
   * Of a handler with affinity: the partition, and the epoch under which the node that makes this
   * call holds it. A downstream that keeps the highest epoch of each partition and refuses lower
   * ones is safe from a node that was stopped and wakes after another took over (B11).
   */
  readonly partition?: {
    /** `<handler>/<no>`. */
    readonly id: string;
    readonly epoch: number;
  };
}

/** What a call is made with. */
export interface CallContext {
  /** Aborted at the call's deadline, at shutdown and on cancellation: hand it to every fetch. */
  readonly signal: AbortSignal;
  /**
   * The same for every attempt of one batch; never used for another batch, not even of another
   * installation.
   */
  readonly idempotencyKey: string;
  /**
   * Unix milliseconds (this machine's clock) after which the call is aborted and its outcome
   * unknown.
   */
  readonly deadline: number;
  /**
   * Where the downstream may tell what became of this batch once it has accepted it (H7): `POST`
   * with `{results}` or `{status, ...}`. Holds a token: give it to nobody else, and do not log it.
   * Undefined where the workers are not set up for it (`muster worker --callback-port`).
   */
  readonly callbackUrl?: string;
}

/** What a downstream can say of one task. */
export const ITEM_STATUSES = ['ok', 'retry', 'failed', 'unknown'] as const;
/**
 * `ok`: applied. `retry`: again in a later batch, with a counted attempt. `failed`: refused for
 * good. `unknown`: looked up, sent again or parked.
 */
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** One member's result, matched by `id` or by `index` (its place in the batch) (H1). */
export interface ItemResult {
  /** The task's id; either this or `index`. */
  id?: string;
  /** Place in the batch, from 0. */
  index?: number;
  status: ItemStatus;
  /** Kept with the task; at most 1,000,000 bytes of JSON, 500 levels deep. */
  result?: unknown;
  /** Why it is not `ok`. */
  error?: string;
  /** With `retry`: not before this (ms). */
  retryAfterMs?: number;
}

/** One result per task, in any order; of many as a stream, read with back pressure. */
export type Results = Iterable<ItemResult> | AsyncIterable<ItemResult>;

/** What can be made to wait. */
export const HOLD_SCOPES = ['target', 'handler'] as const;
/** What waits after back pressure, or what a rate is of: one target, or the whole handler. */
export type HoldScope = (typeof HOLD_SCOPES)[number];

/** What a call answered (H1). */
export type SubmitAnswer =
  | { results: Results }
  | { status: 'accepted'; reference: string }
  | { status: 'later'; retryAfterMs?: number; scope?: HoldScope; error?: string }
  | { status: 'rejected'; error: string };

/** What became of an earlier call whose outcome is unknown (H3). */
export type ReconcileAnswer =
  | { status: 'done'; results: Results }
  | { status: 'accepted'; reference: string }
  | { status: 'absent' }
  | { status: 'unsure' };

/**
 * What a downstream said when it was asked to stop an accepted batch: it agreed (nothing, or
 * `cancelled`), it had ended the batch before (`late`), or it does not stop it (`refused`, as a
 * thrown `RejectedError`). Its status tells what was done; any other throw is asked again.
 */
export type CancelAnswer = void | { status: 'cancelled' } | { status: 'late' | 'refused'; error?: string };

/** What an accepted batch is doing downstream (H7). */
export interface ReferenceStatus {
  /** The downstream's name for the batch, as `submit` returned it. */
  reference: string;
  /**
   * `done`: read its results. `expired`: those that exist count, the rest is tried again. `failed`:
   * refused for its content. `lost`: the reference leads nowhere, so the outcome is unknown.
   */
  status: 'pending' | 'done' | 'expired' | 'failed' | 'lost';
  error?: string;
}
