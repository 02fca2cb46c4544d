import type { Pool } from '../../postgres/pool';
import type { FanoutView } from './fanout';
import { getFanout, requireFanout } from './fanout';
import { FanoutStateError, FanoutTimeoutError } from './errors';
import type { WaitLimits } from '../waiting';
import { checkTimeout, Waiting } from '../waiting';

/** Options of `fanouts.waitFor`. */
export interface WaitForFanoutOptions extends WaitLimits {
  /** Called after every look, with the open items counted; default: none. */
  onProgress?: (fanout: FanoutView) => void;
}

export const waitForFanout = async (
  pool: Pool,
  fanout: string,
  { timeoutMs, signal, onProgress }: WaitForFanoutOptions = {},
): Promise<FanoutView> => {
  checkTimeout(timeoutMs);
  const waiting = new Waiting({ timeoutMs, signal });
  for (;;) {
    signal?.throwIfAborted();
    waiting.look();
    const counted = onProgress === undefined ? null : await getFanout(pool, fanout);
    const found = counted ?? (await requireFanout(pool, fanout));
    onProgress?.(found);
    if (found.state === 'complete') return found;
    if (found.state === 'expired')
      throw new FanoutStateError(
        found.id,
        'expired',
        'a fan-out that completes',
        'It was idle for too long; open another.',
      );
    // The pause is at least as long as the look took, since counting the items of a very large
    // fan-out is slow.
    if (!(await waiting.again())) throw new FanoutTimeoutError(found.id, timeoutMs!, found.state, found.openSegments);
  }
};
