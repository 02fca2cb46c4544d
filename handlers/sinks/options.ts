import type { HandlerOptions } from '../types';

/**
 * The settings of a handler that every sink takes as they are; docs/systems/grouping.md has their
 * defaults. What the downstream dictates (its limits, its idempotency, the target) is the sink's.
 */
export type SinkOptions = Pick<
  HandlerOptions,
  | 'description'
  | 'linger'
  | 'concurrency'
  | 'sharesLimit'
  | 'rate'
  | 'retry'
  | 'timeoutMs'
  | 'leaders'
  | 'affinity'
  | 'maxQueued'
  | 'retentionMs'
> & {
  /** The handler's name: 1-64 characters of a-z, A-Z, 0-9, `_`, `-`, `.`. */
  name: string;
};

/** What a sink that knows no idempotency key lets the user choose. */
export interface UnknownOptions {
  /**
   * What happens to tasks whose answer was lost: `park` (default) waits for an operator, `resend`
   * sends them again, so that some are applied twice.
   */
  onUnknown?: 'park' | 'resend';
}

/** Returns the common settings alone, without the sink's own options. */
export function settingsOf(options: SinkOptions): SinkOptions {
  const { name, description, linger, concurrency, sharesLimit, rate, retry, timeoutMs } = options;
  const { leaders, affinity, maxQueued, retentionMs } = options;
  return {
    name,
    description,
    linger,
    concurrency,
    sharesLimit,
    rate,
    retry,
    timeoutMs,
    leaders,
    affinity,
    maxQueued,
    retentionMs,
  };
}
