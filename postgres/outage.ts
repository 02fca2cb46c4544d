import { setTimeout as sleep } from 'node:timers/promises';
import { isRetryable, isUnavailable } from './errors';

const RETRY_MS = 500;

/**
 * Runs `work` again while Postgres cannot be reached, takes no writes or is busy: for what has
 * happened outside and is known here only. `work` must be idempotent. Rejects with the outage's
 * error when `signal` is aborted, and with any other error at once.
 */
export const outlast = async <T>(
  work: () => Promise<T>,
  { signal, onOutage }: { signal: AbortSignal; onOutage: (error: unknown) => void },
): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(isUnavailable(error) || isRetryable(error)) || signal.aborted) throw error;
      if (tries === 1) onOutage(error);
      await sleep(RETRY_MS);
    }
  }
};
