import { isRetryable } from '../../../postgres/errors';

/**
 * Says whether the store, not the protocol, is the cause: a lock that was waited for too long, or
 * no session within 10 s on a starved machine. The product goes on where Temporal repeats the work,
 * and the sweeper rings for what was not rung.
 */
export const isOutage = (error: unknown): boolean =>
  isRetryable(error) || (error as { code?: unknown } | null)?.code === 'DATABASE_UNAVAILABLE';
