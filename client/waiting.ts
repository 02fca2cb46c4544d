import { checkWhole } from './arguments';

export interface WaitLimits {
  /** Give up after this (ms); default: never. */
  timeoutMs?: number;
  /** Rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** Waits between looks: the first, the longest, and how they grow. */
export const FIRST_MS = 25;
export const LONGEST_MS = 1_000;
export const GROWTH = 1.6;
const MAX_TIMEOUT_MS = 2_147_483_647;

export const checkTimeout = (timeoutMs: number | undefined): void => {
  if (timeoutMs !== undefined) checkWhole('timeoutMs', timeoutMs, 0, MAX_TIMEOUT_MS);
};

/**
 * Polls the store, at growing intervals of up to a second, until the timeout; it begins when it is
 * created.
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

  /** Notes that a look begins. */
  look(): void {
    this.lookedFrom = performance.now();
  }

  /** Waits after a look: false when the time is up, true when the next look is due. */
  async again(): Promise<boolean> {
    const now = performance.now();
    if (now >= this.deadline) return false;
    // At least as long as the look took: looking must not be most of the load.
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
