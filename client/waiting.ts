import { checkWhole } from './arguments';

/** How long to wait. */
export interface WaitLimits {
  /** Gives up after this many milliseconds, 0 to 2,147,483,647; default: never. */
  timeoutMs?: number;
  /** Ends the wait when it is aborted, with its reason as the error; default: none. */
  signal?: AbortSignal;
}

/**
 * Waits between looks in milliseconds: the first, the longest, and the factor by which they grow.
 */
export const FIRST_MS = 25;
export const LONGEST_MS = 1_000;
export const GROWTH = 1.6;
const MAX_TIMEOUT_MS = 2_147_483_647;

export const checkTimeout = (timeoutMs: number | undefined): void => {
  if (timeoutMs !== undefined) checkWhole('timeoutMs', timeoutMs, 0, MAX_TIMEOUT_MS);
};

/**
 * Paces looks at the store, at growing intervals of up to a second, until the timeout, which counts
 * from the creation of this object.
 */
export class Waiting {
  private readonly deadline: number;
  private readonly signal: AbortSignal | undefined;
  private waitMs = FIRST_MS;
  private lookedFrom = 0;

  constructor({ timeoutMs, signal }: WaitLimits) {
    this.deadline = performance.now() + (timeoutMs ?? Infinity);
    this.signal = signal;
  }

  /** Records that a look begins. */
  look(): void {
    this.lookedFrom = performance.now();
  }

  /**
   * Waits after a look. Returns true when the next look is due, and false when the time is up.
   * Rejects if the signal is aborted.
   */
  async again(): Promise<boolean> {
    const now = performance.now();
    if (now >= this.deadline) return false;
    // Waits at least as long as the look took, so that looks are never most of the load.
    await pause(Math.min(Math.max(this.waitMs, now - this.lookedFrom), this.deadline - now), this.signal);
    this.waitMs = Math.min(LONGEST_MS, this.waitMs * GROWTH);
    return true;
  }
}

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
