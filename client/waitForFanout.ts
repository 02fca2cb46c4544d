import type { Pool } from '../postgres/pool';
import { checkWhole } from './arguments';
import type { FanoutView } from './fanout';
import { getFanout, requireFanout } from './fanout';
import { FanoutStateError, FanoutTimeoutError } from './fanoutErrors';
import { pause } from './waitFor';

export interface WaitForFanoutOptions {
  /** Give up after this; default: never. */
  timeoutMs?: number;
  /** Rejects with the signal's reason. */
  signal?: AbortSignal;
  /** After every look. */
  onProgress?: (fanout: FanoutView) => void;
}

const FIRST_MS = 25;
const LONGEST_MS = 1_000;
const GROWTH = 1.6;
const MAX_TIMEOUT_MS = 2_147_483_647;

/**
 * Resolves when the fan-out is complete (D2). Rejects with `NotFoundError` where there is none, `FanoutStateError` (FANOUT_EXPIRED) when
 * it was given up, `FanoutTimeoutError` (TIMEOUT) after `timeoutMs`.
 */
export const waitForFanout = async (
  pool: Pool,
  fanout: string,
  { timeoutMs, signal, onProgress }: WaitForFanoutOptions = {},
): Promise<FanoutView> => {
  if (timeoutMs !== undefined) checkWhole('timeoutMs', timeoutMs, 0, MAX_TIMEOUT_MS);
  const deadline = performance.now() + (timeoutMs ?? Infinity);
  for (let waitMs = FIRST_MS; ; waitMs = Math.min(LONGEST_MS, waitMs * GROWTH)) {
    signal?.throwIfAborted();
    const from = performance.now();
    const counted = onProgress === undefined ? null : await getFanout(pool, fanout);
    const found = counted ?? (await requireFanout(pool, fanout));
    onProgress?.(found);
    if (found.state === 'complete') return found;
    if (found.state === 'expired')
      throw new FanoutStateError(found.id, 'expired', 'one that completes', 'It was idle for too long; open another.');
    const now = performance.now();
    if (now >= deadline) throw new FanoutTimeoutError(found.id, timeoutMs!, found.state, found.openSegments);
    // As long as the look took: counting the bits of a very large one must not be most of the load.
    await pause(Math.min(Math.max(waitMs, now - from), deadline - now), signal);
  }
};
