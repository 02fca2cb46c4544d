/**
 * What passes between Muster and a downstream. Every duration is in milliseconds. This module
 * imports nothing, so that every other one may import it.
 */

/** One task as a handler receives it. */
export interface BatchTask<P = unknown> {
  /**
   * The caller's id, globally unique. With `idempotency: {by: 'task'}` it is the task's idempotency
   * key.
   */
  readonly id: string;
  /** The payload as the handler's schema has transformed it, and as it is stored. */
  readonly payload: P;
  /** Counted attempts before this one. */
  readonly attempts: number;
}

/**
 * What `submit` receives: an immutable, bounded set of tasks of one target, ordered by priority and
 * submission.
 */
export interface Batch<P = unknown> {
  /**
   * The number of the batch, for people and logs. After a backup was restored, another batch may
   * get the same number, so a downstream that remembers batches should go by `idempotencyKey`.
   */
  readonly id: string;
  readonly handler: string;
  /** The target that all of its tasks have. */
  readonly target: string;
  readonly tasks: readonly BatchTask<P>[];
  /**
   * The leader's epoch, and the attempt number of this call. A downstream that keeps the highest
   * ones can refuse older calls.
   */
  readonly epoch: number;
  readonly attempt: number;
  /**
   * For a handler with affinity: the partition, and the epoch under which the calling node holds
   * it. A downstream that keeps the highest epoch per partition, and refuses lower ones, is safe
   * from a node that was stopped and continues after another node has taken over.
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

/**
 * The progress that a holder of a partition has stored last, for itself and for the next holder.
 */
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
   * Stores the progress of the work, as JSON of at most 4,096 bytes and 100 levels. There is at
   * most one write per partition and 200 ms; resolves when this value or a later one is stored.
   * Throws `InvalidCheckpointError`, which names the field, and `PartitionLostError` if this
   * process no longer holds the partition under this epoch. Then nothing is overwritten.
   */
  checkpoint(value: unknown): Promise<void>;
  /**
   * Returns the last checkpoint of this holder or of an earlier one; null: there is none. Throws
   * `PartitionLostError` as `checkpoint` does.
   */
  lastCheckpoint(): Promise<Checkpoint | null>;
}

/** Most characters of an idempotency key, which has only a-z, 0-9 and "-". */
export const IDEMPOTENCY_KEY_LENGTH = 64;

/** Writes a line of the log: fields and a message, an error and a message, or a message alone. */
export interface LogLine {
  (fields: object, message?: string): void;
  (message: string): void;
}

/** Logs in the shape of pino's; a `console` has it, too. */
export interface CallLog {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}

/** What each function of a handler receives that talks to the downstream. */
export interface DownstreamContext {
  /** Aborted at the call's deadline, at shutdown and on cancellation. Pass it to every fetch. */
  readonly signal: AbortSignal;
  /**
   * Writes to the worker's log. Each line has the fields `handler`, and of one batch `target`,
   * `batch` and `attempt`.
   */
  readonly log: CallLog;
}

/** What a call receives besides its batch: when to stop, and under which key it is repeated. */
export interface CallContext extends DownstreamContext {
  /**
   * The same for every attempt of one batch, whichever process makes it, and never used for another
   * batch: not by another installation either, nor by this one after a backup was restored. It is
   * `muster-<installation>-<batch>-<created>`, with the Unix microsecond in which the batch was
   * created, of at most `IDEMPOTENCY_KEY_LENGTH` characters. Compare keys, but do not parse them.
   */
  readonly idempotencyKey: string;
  /**
   * When the call is aborted, so that its outcome is unknown: Unix milliseconds by this machine's
   * clock.
   */
  readonly deadline: number;
  /**
   * Where the downstream may report the outcome of this batch once it has accepted it: by a `POST`
   * of `{results}` or `{status, ...}`. The URL contains a token: give it to no other system, and do
   * not log it. Undefined if the workers are not set up for it (`muster worker --callback-port`).
   */
  readonly callbackUrl?: string;
  /** For a handler with affinity: the partition of this call, for checkpoints. */
  readonly partition?: PartitionInHand;
  /**
   * The W3C trace context of this call, for the header of the same name; undefined: its trace is
   * not recorded. Clients that OpenTelemetry instruments send it by themselves.
   */
  readonly traceparent?: string;
}

/** What a downstream can report about one task. */
export const ITEM_STATUSES = ['ok', 'retry', 'failed', 'unknown'] as const;
/**
 * `ok`: the task was applied. `retry`: it is sent again in a later batch, with a counted attempt.
 * `failed`: it was refused permanently. `unknown`: it is looked up, sent again or parked.
 */
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** One member's result, matched by `id` or by `index` (its place in the batch). */
export interface ItemResult {
  /** The task's id; either this or `index`. */
  id?: string;
  /** Place in the batch, from 0. */
  index?: number;
  status: ItemStatus;
  /**
   * A value that is kept with the task: at most 1,000,000 bytes of JSON and 500 levels. A larger
   * one is left out.
   */
  result?: unknown;
  /** Why the status is not `ok`. */
  error?: string;
  /** With `retry`: milliseconds before which the task is not sent again. */
  retryAfterMs?: number;
}

/**
 * One result per task, in any order. Many results may be a stream, which is read with back
 * pressure.
 */
export type Results = Iterable<ItemResult> | AsyncIterable<ItemResult>;

/** What can be held back. */
export const HOLD_SCOPES = ['target', 'handler'] as const;
/** What waits after back pressure, or what a rate limits: one target, or the whole handler. */
export type HoldScope = (typeof HOLD_SCOPES)[number];

/** The answer of a call: results per task, or what becomes of the whole batch. */
export type SubmitAnswer =
  | { results: Results }
  | { status: 'accepted'; reference: string }
  | { status: 'later'; retryAfterMs?: number; scope?: HoldScope; error?: string }
  | { status: 'rejected'; error: string };

/** What a look-up has found about an earlier call of unknown outcome. */
export type ReconcileAnswer =
  | { status: 'done'; results: Results }
  | { status: 'accepted'; reference: string }
  | { status: 'absent' }
  | { status: 'unsure' };

/**
 * The downstream's answer when it was asked to stop an accepted batch: it agreed (nothing, or
 * `cancelled`), it had ended the batch before (`late`), or it does not stop it (`refused`, or a
 * thrown `RejectedError`). After any other error it is asked again. What was applied is found out
 * by polling its status.
 */
export type CancelAnswer = void | { status: 'cancelled' } | { status: 'late' | 'refused'; error?: string };

/** The state of an accepted batch in the downstream. */
export interface ReferenceStatus {
  /** The downstream's name for the batch, as `submit` returned it. */
  reference: string;
  /**
   * `done`: its results can be read. `expired`: the results that exist count, and the other tasks
   * are tried again. `failed`: refused for its content. `lost`: the reference is not known any
   * more, so the outcome is unknown.
   */
  status: 'pending' | 'done' | 'expired' | 'failed' | 'lost';
  error?: string;
}
