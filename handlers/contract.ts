/**
 * What passes between Muster and a downstream. A leaf: everything may import it. Every duration is
 * in milliseconds.
 */

/** One task as a handler sees it; tasks are in the batch's order. */
export interface BatchTask<P = unknown> {
  /**
   * The caller's id, globally unique. With `idempotency: {by: 'task'}` it is the task's idempotency
   * key.
   */
  readonly id: string;
  /** As the handler's schema has made it, from what is stored. */
  readonly payload: P;
  /** Counted attempts before this one. */
  readonly attempts: number;
}

/** What `submit` gets: an immutable, bounded set of tasks of one target, in arrival order. */
export interface Batch<P = unknown> {
  /**
   * Its number, for people and logs. After a restored backup it may come again, for another batch:
   * a downstream that remembers batches goes by `idempotencyKey`.
   */
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
   * For a handler with affinity: the partition, and the epoch under which the node that makes this
   * call holds it. A downstream that keeps the highest epoch of each partition and refuses lower
   * ones is safe from a node that was stopped and wakes after another took over.
   */
  readonly partition?: {
    /** `<handler>/<no>`. */
    readonly id: string;
    readonly epoch: number;
  };
  /**
   * For `submit` of a handler with `lane.dependencies: 'downstream'`: the batches of this handler
   * on which this one depends, at most 1,000. The downstream must not apply it before them, and
   * must refuse it if one of them is not applied. Undefined: none.
   */
  readonly dependsOn?: readonly BatchDependency[];
}

/** A batch that the downstream has, and on which another one depends. */
export interface BatchDependency {
  /** As `Batch.id`. */
  readonly batch: string;
  /** The downstream's name for it; null: it was answered at once. */
  readonly reference: string | null;
  /** It has been applied; else the downstream has accepted it and not ended it yet. */
  readonly committed: boolean;
}

/** What a holder of a partition last said of its progress: for itself, and for the next holder. */
export interface Checkpoint {
  readonly value: unknown;
  /** When it was stored: ISO text, by the database's clock. */
  readonly at: string;
  /** The epoch of the holder that stored it. */
  readonly epoch: number;
}

/** The partition of a call, with the progress of the work in it. */
export interface PartitionInHand {
  /** `<handler>/<no>`. */
  readonly id: string;
  readonly epoch: number;
  /**
   * Stores how far the work has come: JSON of at most 4,096 bytes, 100 levels deep. At most one
   * write per partition and 200 ms; resolves when this value or a later one is stored. Throws
   * `InvalidCheckpointError` with the field, and `PartitionLostError` where this process no longer
   * holds the partition under this epoch: then nothing is overwritten.
   */
  checkpoint(value: unknown): Promise<void>;
  /**
   * Returns the last checkpoint, this holder's or the one before it; null: there is none. Throws
   * `PartitionLostError` as `checkpoint` does.
   */
  lastCheckpoint(): Promise<Checkpoint | null>;
}

/** Most characters of an idempotency key, each one of a-z, 0-9 and "-". */
export const IDEMPOTENCY_KEY_LENGTH = 64;

/** What a call is given beside its batch: when to stop, and under which key it is repeated. */
export interface CallContext {
  /** Aborted at the call's deadline, at shutdown and on cancellation: pass it to every fetch. */
  readonly signal: AbortSignal;
  /**
   * The same for every attempt of one batch, whichever process makes it; never used for another
   * batch, not even of another installation, or of this one after a backup was restored.
   * `muster-<installation>-<batch>-<created>` with the Unix microsecond in which the batch was
   * created; at most `IDEMPOTENCY_KEY_LENGTH` characters. Compare keys, do not take them apart.
   */
  readonly idempotencyKey: string;
  /**
   * Unix milliseconds (this machine's clock) after which the call is aborted and its outcome
   * unknown.
   */
  readonly deadline: number;
  /**
   * Where the downstream may report the outcome of this batch once it has accepted it: `POST` with
   * `{results}` or `{status, ...}`. Contains a token: give it to no other system, and do not log
   * it. Undefined where the workers are not set up for it (`muster worker --callback-port`).
   */
  readonly callbackUrl?: string;
  /** For a handler with affinity: the partition of this call, for checkpoints. */
  readonly partition?: PartitionInHand;
}

/** What a downstream can say of one task. */
export const ITEM_STATUSES = ['ok', 'retry', 'failed', 'unknown'] as const;
/**
 * `ok`: applied. `retry`: again in a later batch, with a counted attempt. `failed`: refused for
 * good. `unknown`: looked up, sent again or parked.
 */
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** One member's result, matched by `id` or by `index` (its place in the batch). */
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

/** The answer of a call. */
export type SubmitAnswer =
  | { results: Results }
  | { status: 'accepted'; reference: string }
  | { status: 'later'; retryAfterMs?: number; scope?: HoldScope; error?: string }
  | { status: 'rejected'; error: string };

/** The outcome of an earlier call, which was unknown until now. */
export type ReconcileAnswer =
  | { status: 'done'; results: Results }
  | { status: 'accepted'; reference: string }
  | { status: 'absent' }
  | { status: 'unsure' };

/**
 * The downstream's answer when it was asked to stop an accepted batch: it agreed (nothing, or
 * `cancelled`), it had ended the batch before (`late`), or it does not stop it (`refused`, as a
 * thrown `RejectedError`). Its status says what was done; after any other throw it is asked again.
 */
export type CancelAnswer = void | { status: 'cancelled' } | { status: 'late' | 'refused'; error?: string };

/** State of an accepted batch downstream. */
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
