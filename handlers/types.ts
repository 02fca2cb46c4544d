import type { Contract, ContractOptions } from './contracts/types';
import type { Trial } from './trials/trial';
import type {
  Batch,
  CallContext,
  CancelAnswer,
  DownstreamContext,
  HoldScope,
  ReconcileAnswer,
  ReferenceStatus,
  Results,
  SubmitAnswer,
} from './contract';

export type * from './contracts/types';

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

/** A limit over all handlers that name it: their calls on all workers together keep to it. */
export interface SharedLimit {
  /** 1-64 characters of a-z, A-Z, 0-9, _, - and ., not . or .. alone */
  name: string;
  /** At most `limit` units per `perMs`, evenly paced. Default: no rate. */
  rate?: Omit<Rate, 'scope'> | Omit<Rate, 'scope'>[];
  /** Most calls at once, 1 to 10,000. Default: no limit. */
  concurrency?: number;
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

/** How a handler makes its calls, and how they are paced, limited and tried again. */
export interface Implementation<P = unknown> {
  /**
   * Longest wait from the first task (default 1,000), and wait without arrivals (default: none):
   * ms, up to 30 days.
   */
  linger?: { lingerMs?: number; quietPeriodMs?: number };
  /** Most calls in flight, 1 to 10,000; default 4 per target, 32 per handler; in lanes no limit. */
  concurrency?: { perTarget?: number; perHandler?: number };
  rate?: Rate | Rate[];
  /** A limit that it shares with others, such as the budget of one API key. Not in lanes. */
  sharesLimit?: SharedLimit;
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
  status?: (references: readonly string[], context: DownstreamContext) => Promise<readonly ReferenceStatus[]>;
  /** Returns the results of an accepted batch that is done or expired. */
  results?: (reference: string, context: DownstreamContext) => Results | Promise<Results>;
  /** Stops an accepted batch that was given up. May be called repeatedly for the same batch. */
  cancel?: (reference: string, context: DownstreamContext) => Promise<CancelAnswer>;
  /** Looks up what became of a call of unknown outcome. A thrown error counts as `unsure`. */
  reconcile?: (batch: Batch<P>, context: CallContext) => Promise<ReconcileAnswer>;
  /** The answer `absent` counts only if the call is at least this old (ms). Default 0. */
  absentAfterMs?: number;
  /**
   * Interval of polls (default 5 s), when a batch is given up (default 1 day), and the longest time
   * without a result while results are read, after which they are read again (default 5 min): ms.
   */
  poll?: { everyMs?: number; deadlineMs?: number; idleMs?: number };
  /** Tasks are deleted this long after their end; their ids may be used again. Default 7 days. */
  retentionMs?: number;
  /** Returns what `muster certify` needs, without which a handler cannot be certified. */
  trial?: () => Trial<Handler>;
}

/** A handler as a user writes it. `defineHandler` checks it and fills in the defaults. */
export interface HandlerOptions<P = unknown, I = P> extends ContractOptions<P, I>, Implementation<P> {}

/**
 * A checked handler with all defaults filled in, as `defineHandler`, `implement` and `httpHandler`
 * return it.
 */
export interface Handler<P = unknown, I = P> extends Contract<P, I> {
  readonly linger: { readonly lingerMs: number; readonly quietPeriodMs?: number };
  readonly concurrency: { readonly perTarget: number; readonly perHandler: number };
  readonly rates: readonly Required<Rate>[];
  /** Null: it shares none. */
  readonly sharesLimit: {
    readonly name: string;
    readonly rates: readonly Omit<Rate, 'scope'>[];
    readonly concurrency: number | null;
  } | null;
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
  readonly poll: { readonly everyMs: number; readonly deadlineMs: number; readonly idleMs: number };
  readonly retentionMs: number;
  /** As in `HandlerOptions`. */
  readonly trial?: HandlerOptions<P>['trial'];
  /**
   * Returns the call that this batch would make, for `muster try`. Undefined for a handler in code.
   */
  preview?(batch: Batch<P>): { method: string; url: string; headers: Record<string, string>; body: string };
}
