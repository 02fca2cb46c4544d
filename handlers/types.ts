import type { ZodType } from 'zod';
import type { ApproachName, LaneKind } from '../workflows/planning/lanes/types';
import type {
  Batch,
  CallContext,
  CancelAnswer,
  HoldScope,
  ReconcileAnswer,
  ReferenceStatus,
  Results,
  SubmitAnswer,
} from './contract';

/**
 * How a handler describes its downstream. A leaf: everything may import it. Limits here are per
 * call unless said otherwise; every duration is in milliseconds.
 */

/** What a rate counts. */
export const RATE_UNITS = ['calls', 'items', 'weight'] as const;
/**
 * At most `limit` units per `perMs`, evenly paced, for the handler (default) or for each target.
 */
export interface Rate {
  limit: number;
  perMs: number;
  unit: (typeof RATE_UNITS)[number];
  scope?: HoldScope;
}

/** How much fits into one call. */
export interface Limits {
  /** Most tasks in one batch, 1 to 100,000. */
  maxItems: number;
  /** Most bytes of the encoded call: sum of `bytesOf(payload, id)` + `overheadBytes`. */
  maxBytes?: number;
  /** Bytes that a call has besides its tasks; default 0. */
  overheadBytes?: number;
  /** Most weight in one batch: sum of `weightOf(payload)`. */
  maxWeight?: number;
  /** The quiet period does not close a batch below this; the linger does. */
  minItems?: number;
  /**
   * Most weight in batches that are not yet terminal, per target and per handler (enqueued-token
   * budgets).
   */
  maxWeightInFlight?: { perTarget?: number; perHandler?: number };
}

/** How often, and after which waits, what failed is tried again. */
export interface RetryPolicy {
  /** Short waits inside the activity, slot held: `times` of them, `baseMs` doubling. */
  inPlace: { times: number; baseMs: number };
  /** Durable waits in the store: `baseMs` doubling up to `maxMs`, full jitter. */
  delayed: { baseMs: number; maxMs: number };
  /** Counted attempts of a task before it is dead. */
  maxAttempts: number;
}

/**
 * Which key the downstream honours, and for how long (`windowMs`): docs/handlers/idempotency.md.
 */
export type Idempotency = 'none' | { by: 'batch' | 'task'; windowMs?: number };

/**
 * Served by one node at a time, the holder of its partition: exact limits in one process,
 * connections that stay warm.
 */
export interface Affinity {
  /**
   * Number of partitions among which the targets (or lanes) are divided: at least a few times the
   * nodes. 1 to 1,024, default 32. May grow; a lower number changes nothing that exists.
   */
  partitions: number;
  /**
   * Attributes that a node must have to serve it (`nodes.attributes` of its config). Default: none.
   */
  attributes: Readonly<Record<string, string>>;
}

/** How batches of one lane follow each other. */
export interface LaneRules {
  /**
   * `guaranteed`: the downstream keeps the order in which it accepts. Default `non-guaranteed`: the
   * lane keeps it.
   */
  kind: LaneKind;
  /**
   * `serial` (default): the next only after the one before is committed. `parallel`: earlier, if
   * its reads and writes do not meet those of any before it. `unconstrained`: whenever a submitter
   * is free.
   */
  approach: ApproachName;
  /**
   * `halt`: an invalid batch stops its lane until an operator skips or fixes it. Default
   * `continue`.
   */
  onInvalid: 'continue' | 'halt';
  /**
   * How often an unknown outcome is looked up (`reconcile`) while the answer is `unsure`, before
   * its lane is parked. Default 5.
   */
  lookUps: number;
  /** Milliseconds between two of those. Default 2,000. */
  lookUpEveryMs: number;
  /**
   * How many deadlines (`poll.deadlineMs`) a batch may pass while it is pending, before its lane is
   * parked. Default 3.
   */
  deadlines: number;
  /**
   * Most accepted and unfinished batches of a lane; at it nothing is sent until fewer than half of
   * it are left. Default: no limit.
   */
  pendingLimit?: number;
  /**
   * Who keeps a batch waiting for the batches that it depends on. `held` (default): Muster does,
   * until they are committed. `downstream`: the downstream does. A batch is then sent as soon as it
   * has accepted those of this handler, and is given their references (`Batch.dependsOn`); for
   * batches of other handlers it is still held.
   */
  dependencies: 'held' | 'downstream';
}

/** What a user writes; `defineHandler` checks it and fills in the defaults. */
export interface HandlerOptions<P = unknown, I = P> {
  /** 1-64 characters of a-z, A-Z, 0-9, `_`, `-`, `.`. */
  name: string;
  description?: string;
  /**
   * Checks (and may transform) the payload at submit: `I` is what is submitted, `P` what the
   * handler sees.
   */
  schema?: ZodType<P, I>;
  /** The batch key, computed from the content: 1-512 bytes. Only equal targets share a batch. */
  target: (payload: P) => string;
  /**
   * Encoded size of one task in bytes, with its id if the call carries that; default: of its
   * payload's JSON.
   */
  bytesOf?: (payload: P, id: string) => number;
  /** Weight of one task, above 0; default 1. */
  weightOf?: (payload: P) => number;
  /** Equal keys of a target never share a batch nor two batches in flight, and keep their order. */
  distinctBy?: (payload: P) => string;
  limits: Limits;
  /** Longest wait from the first task (default 1 s), and without an arrival: ms, to 30 days. */
  linger?: { lingerMs?: number; quietPeriodMs?: number };
  /** Most calls in flight at once, 1 to 10,000; default 4 per target, 32 per handler. */
  concurrency?: { perTarget?: number; perHandler?: number };
  rate?: Rate | Rate[];
  retry?: {
    inPlace?: Partial<RetryPolicy['inPlace']>;
    delayed?: Partial<RetryPolicy['delayed']>;
    maxAttempts?: number;
  };
  /** Longest one call may take; then it is aborted and its outcome is unknown. Default 30 s. */
  timeoutMs?: number;
  /** Default 'none'. */
  idempotency?: Idempotency;
  /** What becomes of an unknown outcome that no key and no look-up settles. Default 'park'. */
  onUnknown?: 'park' | 'resend';
  /** Split a batch that is refused for its content until the poison task is alone. Default true. */
  bisect?: boolean;
  /**
   * Makes the call. What it may throw: `RejectedError`, `LaterError`, `HaltError`; anything else,
   * and the timeout, is an unknown outcome of the whole batch.
   */
  submit: (batch: Batch<P>, context: CallContext) => Promise<SubmitAnswer>;
  /** Says what accepted batches are doing: of many references at once. */
  status?: (references: readonly string[], context: { signal: AbortSignal }) => Promise<readonly ReferenceStatus[]>;
  /** Returns the results of an accepted batch that is done or expired. */
  results?: (reference: string, context: { signal: AbortSignal }) => Results | Promise<Results>;
  /**
   * Stops an accepted batch that was given up. Called at least once for each, so it must tolerate
   * repeats.
   */
  cancel?: (reference: string, context: { signal: AbortSignal }) => Promise<CancelAnswer>;
  /** Looks up what became of a call of unknown outcome; a throw is `unsure`. */
  reconcile?: (batch: Batch<P>, context: CallContext) => Promise<ReconcileAnswer>;
  /** `absent` counts only if the call is at least this old. Default 0. */
  absentAfterMs?: number;
  /** Between two questions about a batch (default 5 s), and its last one (default 1 day): ms. */
  poll?: { everyMs?: number; deadlineMs?: number };
  /**
   * Names the lane that a target feeds, 1-512 bytes: its batches are sent in the order in which
   * their tasks were submitted. Always the same answer for the same target, or the task is refused.
   * `priority` and `notBefore` are refused then.
   */
  service?: (target: string, payload: P) => string;
  /**
   * State keys that a task reads and writes, for lanes with approach `parallel`. At most 1,000 of a
   * batch, 1-256 bytes each (`STATE_KEYS_MAX`).
   */
  reads?: (payload: P) => string[];
  /** As `reads`. */
  writes?: (payload: P) => string[];
  /**
   * Rules of the lanes that this handler is the first to use. With it (also empty) or with
   * `service` a handler keeps the order of all of its tasks: without `service`, targets are bound
   * to their lanes by `submitBatch`, and a task of a target that is not bound yet is refused.
   */
  lane?: Partial<LaneRules>;
  /** How many leader workflows share the targets, 1 to 1,024. Default 'auto' = 4. */
  leaders?: 'auto' | 'target' | number;
  /**
   * `'partition'`: its targets (with `service`: its lanes) are divided among partitions, each
   * served by one node. Each partition has its own leader, so `leaders` is refused beside it.
   * Default: any node makes any call.
   */
  affinity?: 'partition' | Partial<Affinity>;
  /** Back pressure upstream: a submit that would exceed it is refused with `Backlogged`. */
  maxQueued?: { perTarget?: number; perHandler?: number };
  /**
   * Terminal tasks are deleted after this, and from then on their ids may be used again. Default 7
   * days.
   */
  retentionMs?: number;
  /** Largest payload in bytes of JSON. Default 256 KiB. */
  maxPayloadBytes?: number;
}

/**
 * A checked handler with every default filled in: what `defineHandler` and `httpHandler` return.
 * What takes a payload is declared as a method, so that a list of handlers of any payloads is a
 * `Handler[]`: each gets only what its own schema let through.
 */
export interface Handler<P = unknown, I = P> {
  readonly name: string;
  readonly description: string;
  readonly schema: ZodType<P, I>;
  /** As in `HandlerOptions`. */
  target(payload: P): string;
  /** As in `HandlerOptions`. */
  bytesOf(payload: P, id: string): number;
  /** As in `HandlerOptions`. */
  weightOf(payload: P): number;
  /** As in `HandlerOptions`. */
  distinctBy?(payload: P): string;
  readonly limits: {
    readonly maxItems: number;
    readonly maxBytes?: number;
    readonly overheadBytes: number;
    readonly maxWeight?: number;
    readonly minItems: number;
    readonly maxWeightInFlight: { readonly perTarget?: number; readonly perHandler?: number };
  };
  readonly linger: { readonly lingerMs: number; readonly quietPeriodMs?: number };
  readonly concurrency: { readonly perTarget: number; readonly perHandler: number };
  readonly rates: readonly Required<Rate>[];
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
  readonly idempotency: Idempotency;
  readonly onUnknown: 'park' | 'resend';
  readonly bisect: boolean;
  /** As in `HandlerOptions`. */
  submit(batch: Batch<P>, context: CallContext): Promise<SubmitAnswer>;
  /** As in `HandlerOptions`. */
  readonly status?: HandlerOptions<P>['status'];
  /** As in `HandlerOptions`. */
  readonly results?: HandlerOptions<P>['results'];
  /** As in `HandlerOptions`. */
  readonly cancel?: HandlerOptions<P>['cancel'];
  /** As in `HandlerOptions`. */
  reconcile?(batch: Batch<P>, context: CallContext): Promise<ReconcileAnswer>;
  readonly absentAfterMs: number;
  readonly poll: { readonly everyMs: number; readonly deadlineMs: number };
  /** As in `HandlerOptions`. */
  service?(target: string, payload: P): string;
  /** As in `HandlerOptions`. */
  reads?(payload: P): string[];
  /** As in `HandlerOptions`. */
  writes?(payload: P): string[];
  readonly lane: LaneRules;
  /** Its batches go through lanes: it has a `service` or a `lane`. */
  readonly ordered: boolean;
  readonly leaders: 'auto' | 'target' | number;
  /** Null: any node makes any call. */
  readonly affinity: Affinity | null;
  readonly maxQueued: { readonly perTarget?: number; readonly perHandler?: number };
  readonly retentionMs: number;
  readonly maxPayloadBytes: number;
  /**
   * Returns the first call this batch would make, for `muster try`; undefined where a handler
   * cannot say.
   */
  preview?(batch: Batch<P>): { method: string; url: string; headers: Record<string, string>; body: string };
}
