import type { Call } from '../calls/call';

type Timed = Pick<Call, 'attempt' | 'members'> & {
  batch: Pick<Call['batch'], 'aheadMs' | 'createdUs' | 'lastCallAtMs'>;
};

/** Converts the times of a call, which are the database's or the process's, to `Date.now()`. */
export const localTimes = ({ attempt, batch, members }: Timed) => {
  const now = performance.now();
  const dateAhead = Date.now() - now;
  const ofDatabase = (ms: number): number => ms - batch.aheadMs + dateAhead;
  return {
    /** When the last call of the batch was made; now, if that is not known. */
    calledAt: (): number => (batch.lastCallAtMs ?? now) + dateAhead,
    /**
     * Returns since when the members at these places have been waiting for this call: since the
     * call before it, since their batch was formed if others were made for them, or since they were
     * accepted.
     */
    queuedAt: (sinceMs: number, places: readonly number[]): number => {
      if (attempt > 1 && batch.lastCallAtMs !== null) return batch.lastCallAtMs + dateAhead;
      const again = places.some((place) => members[place]!.attempts > 0);
      return ofDatabase(again ? batch.createdUs / 1000 : sinceMs);
    },
  };
};
