import type { ZodType } from 'zod';
import type { ApproachName, LaneKind } from '../workflows/planning/lanes/types';
import type { Trial } from './trials/trial';
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
 * How a handler describes its downstream. Limits are per call unless a comment says otherwise, and
 * every duration is in milliseconds.
 */

/** The units that a rate can count. */
export const RATE_UNITS = ['calls', 'items', 'weight'] as const;
/** At most `limit` units per `perMs`, evenly paced, per handler (default) or per target. */
export interface Rate {
  limit: number;
  perMs: number;
  unit: (typeof RATE_UNITS)[number];
  scope?: HoldScope;
}

/** How much fits into one call. A limit that is left out does not apply. */
export interface Limits {
  /** Most tasks per batch, 1 to 100,000. */
  maxItems: number;
  /** Most bytes of the encoded call: the sum of `bytesOf(payload, id)`, plus `overheadBytes`. */
  maxBytes?: number;
  /** Bytes of a call besides its tasks; default 0. */
  overheadBytes?: number;
  /** Most weight per batch: the sum of `weightOf(payload)`. */
  maxWeight?: number;
  /** Fewest tasks for the quiet period (not the linger) to close a batch; default 1. */
  minItems?: number;
  /**
   * Most weight in batches that have not ended, per target and per handler (a budget of enqueued
   * tokens).
   */
  maxWeightInFlight?: { perTarget?: number; perHandler?: number };
}

/** How often, and after which waits, failed calls and tasks are tried again. */
export interface RetryPolicy {
  /**
   * Short waits after back pressure that hold their slot: `times` of them (default 2), of `baseMs`
   * (default 250), doubled each time.
   */
  inPlace: { times: number; baseMs: number };
  /** Waits in the store: `baseMs` (default 1,000), doubled up to `maxMs` (default 300,000). */
  delayed: { baseMs: number; maxMs: number };
  /** Counted attempts after which a task is dead; default 10. */
  maxAttempts: number;
}

/**
 * The key that the downstream honours, and for how long (`windowMs`; default: always). See
 * docs/handlers/idempotency.md.
 */
export type Idempotency = 'none' | { by: 'batch' | 'task'; windowMs?: number };

/**
 * Each target is served by one node at a time, the holder of its partition, so that limits are
 * exact within one process and connections stay open.
 */
export interface Affinity {
  /**
   * Number of partitions among which targets (or lanes) are divided, 1 to 1,024, default 32. Should
   * be a few times the number of nodes. It may grow; a lower number has no effect.
   */
  partitions: number;
  /** Attributes that a node must have in `nodes.attributes` of its config file. Default: none. */
  attributes: Readonly<Record<string, string>>;
}

/** How the batches of a lane follow each other. */
export interface LaneRules {
  /**
   * `guaranteed`: the downstream keeps the order in which it accepts batches. Default
   * `non-guaranteed`: the lane keeps the order.
   */
  kind: LaneKind;
  /**
   * `serial` (default): a batch is sent once the one before is committed. `parallel`: earlier, if
   * its reads and writes conflict with no batch before it. `unconstrained`: as soon as a submitter
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
   * the batch is parked and halts its lane. Default 5.
   */
  lookUps: number;
  /** Milliseconds between two look-ups. Default 2,000. */
  lookUpEveryMs: number;
  /**
   * The number of deadlines (`poll.deadlineMs`) passed while pending at which a batch is parked and
   * halts its lane. Default 3.
   */
  deadlines: number;
  /**
   * Most pending batches of a lane. At this limit nothing is sent until fewer than half as many are
   * pending. Default: no limit.
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

/** A handler as a user writes it. `defineHandler` checks it and fills in the defaults. */
export interface HandlerOptions<P = unknown, I = P> {
  /** 1-64 characters of a-z, A-Z, 0-9, `_`, `-`, `.`. */
  name: string;
  description?: string;
  /**
   * Checks, and may transform, the payload when it is submitted: `I` is the submitted payload, `P`
   * the one that the handler receives. Default: any JSON.
   */
  schema?: ZodType<P, I>;
  /** The batch key, computed from the content: 1-512 bytes. Only equal targets share a batch. */
  target: (payload: P) => string;
  /**
   * Encoded size of one task in bytes, including its id if the call carries that. Default: the size
   * of the payload's JSON.
   */
  bytesOf?: (payload: P, id: string) => number;
  /** Weight of one task, at least 0; default 1. */
  weightOf?: (payload: P) => number;
  /**
   * Tasks of a target with equal keys (1-512 bytes) keep their order, and are never in flight
   * together.
   */
  distinctBy?: (payload: P) => string;
  limits: Limits;
  /**
   * Longest wait from the first task (default 1,000), and wait without arrivals (default: none):
   * ms, up to 30 days.
   */
  linger?: { lingerMs?: number; quietPeriodMs?: number };
  /** Most calls in flight, 1 to 10,000; default 4 per target, 32 per handler; in lanes no limit. */
  concurrency?: { perTarget?: number; perHandler?: number };
  rate?: Rate | Rate[];
  retry?: {
    inPlace?: Partial<RetryPolicy['inPlace']>;
    delayed?: Partial<RetryPolicy['delayed']>;
    maxAttempts?: number;
  };
  /**
   * Longest that a call may take, up to a day; then it is aborted, and its outcome is unknown.
   * Default 30 s; 15 s in lanes.
   */
  timeoutMs?: number;
  /** The key that the downstream honours. Default `none`. */
  idempotency?: Idempotency;
  /** What happens to an outcome that stays unknown after keys and look-ups. Default `park`. */
  onUnknown?: 'park' | 'resend';
  /** Split a batch refused for its content until the poison task is alone. Default true. */
  bisect?: boolean;
  /**
   * Makes the call. May throw `RejectedError`, `LaterError` and `HaltError`; any other error, and
   * the timeout, is an unknown outcome of the whole batch.
   */
  submit: (batch: Batch<P>, context: CallContext) => Promise<SubmitAnswer>;
  /** Returns the states of many accepted batches. */
  status?: (references: readonly string[], context: { signal: AbortSignal }) => Promise<readonly ReferenceStatus[]>;
  /** Returns the results of an accepted batch that is done or expired. */
  results?: (reference: string, context: { signal: AbortSignal }) => Results | Promise<Results>;
  /** Stops an accepted batch that was given up. May be called repeatedly for the same batch. */
  cancel?: (reference: string, context: { signal: AbortSignal }) => Promise<CancelAnswer>;
  /** Looks up what became of a call of unknown outcome. A thrown error counts as `unsure`. */
  reconcile?: (batch: Batch<P>, context: CallContext) => Promise<ReconcileAnswer>;
  /** The answer `absent` counts only if the call is at least this old (ms). Default 0. */
  absentAfterMs?: number;
  /** Interval of polls (default 5 s), and when a batch is given up (default 1 day): ms. */
  poll?: { everyMs?: number; deadlineMs?: number };
  /**
   * Returns the service, 1-512 bytes, in whose lane a target's batches are sent in the order of
   * submission. Must be the same for all tasks of a target; other tasks are refused, and so are
   * `priority` and `notBefore`.
   */
  service?: (target: string, payload: P) => string;
  /**
   * Returns the state keys that a task reads, for the approach `parallel`: 1-256 bytes each, at
   * most 1,000 per batch (`STATE_KEYS_MAX`).
   */
  reads?: (payload: P) => string[];
  /** Returns the state keys that a task writes, likewise. */
  writes?: (payload: P) => string[];
  /**
   * Rules of the handler's lanes. With `lane` (even if empty) or `service`, all tasks of the
   * handler go through lanes. Without `service`, targets are bound to lanes by `submitBatch`, and
   * tasks of a target that is not bound yet are refused.
   */
  lane?: Partial<LaneRules>;
  /** How many leader workflows share the targets, 1 to 1,024. Default `auto`, which is 4. */
  leaders?: 'auto' | 'target' | number;
  /**
   * `partition`: the handler's targets (or lanes) are divided among partitions, each served by one
   * node. Each partition has a leader of its own, so `leaders` is refused. Default: any node makes
   * any call.
   */
  affinity?: 'partition' | Partial<Affinity>;
  /**
   * Most waiting tasks: a submit that would exceed this is refused by `BackloggedError`. Default:
   * no limit.
   */
  maxQueued?: { perTarget?: number; perHandler?: number };
  /** Tasks are deleted this long after their end; their ids may be used again. Default 7 days. */
  retentionMs?: number;
  /** Largest payload in bytes of JSON, up to 64 MiB. Default 256 KiB. */
  maxPayloadBytes?: number;
  /** Returns what `muster certify` needs, without which a handler cannot be certified. */
  trial?: () => Trial<Handler>;
}

/**
 * A checked handler with all defaults filled in, as `defineHandler` and `httpHandler` return it.
 * Functions of a payload are declared as methods, so that handlers of any payloads fit into a
 * `Handler[]`: each receives only what its own schema has accepted.
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
  /** All of its tasks go through lanes, since it has a `service` or a `lane`. */
  readonly ordered: boolean;
  readonly leaders: 'auto' | 'target' | number;
  /** Null: any node makes any call. */
  readonly affinity: Affinity | null;
  readonly maxQueued: { readonly perTarget?: number; readonly perHandler?: number };
  readonly retentionMs: number;
  readonly maxPayloadBytes: number;
  /** As in `HandlerOptions`. */
  readonly trial?: HandlerOptions<P>['trial'];
  /**
   * Returns the call that this batch would make, for `muster try`. Undefined for a handler in code.
   */
  preview?(batch: Batch<P>): { method: string; url: string; headers: Record<string, string>; body: string };
}
