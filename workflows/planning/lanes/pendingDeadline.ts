/**
 * How many times a batch may pass its deadline (ask, unknown, found accepted or sent again) before
 * its lane is parked.
 */
export const OVERDUE_MAX = 3;

/** A batch that the downstream accepted and has not ended (C9: nothing is pending for ever). */
export interface PendingFacts {
  /** Until the handler's `poll.deadlineMs` since it was accepted (last) has passed. */
  deadlineInMs: number;
  /** It was asked for once more after the deadline and was still pending. */
  askedSince: boolean;
  /** Deadlines it has passed, this one included. */
  overdue: number;
  overdueMax?: number;
}

export type PendingDecision =
  | { kind: 'wait'; inMs: number }
  /** Ask for its status now, not at the next poll. */
  | { kind: 'ask' }
  /** Status unknown, then `decideUnknown`. */
  | { kind: 'unknown' }
  | { kind: 'park'; reason: string };

/**
 * Past its deadline it is asked for once, then unknown; after `OVERDUE_MAX` deadlines its lane
 * halts and says so. Never skipped.
 */
export const decidePending = ({
  deadlineInMs,
  askedSince,
  overdue,
  overdueMax = OVERDUE_MAX,
}: PendingFacts): PendingDecision => {
  if (deadlineInMs > 0) return { kind: 'wait', inMs: deadlineInMs };
  if (!askedSince) return { kind: 'ask' };
  if (overdue < overdueMax) return { kind: 'unknown' };
  return {
    kind: 'park',
    reason: `pending for ever: it passed its deadline ${overdue} ${overdue === 1 ? 'time' : 'times'} without an end`,
  };
};
