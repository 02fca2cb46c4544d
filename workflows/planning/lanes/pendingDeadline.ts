/**
 * How many times a batch may pass its deadline (polled, unknown, found accepted or sent again)
 * before its lane is parked.
 */
export const OVERDUE_MAX = 3;

/**
 * A batch that the downstream accepted and that has not ended: it must not stay pending without
 * end.
 */
export interface PendingFacts {
  /** Ms until the handler's `poll.deadlineMs` since it was (last) accepted has passed. */
  deadlineInMs: number;
  /** It was polled once more after the deadline and was still pending. */
  askedSince: boolean;
  /** Deadlines it has passed, this one included. */
  overdue: number;
  overdueMax?: number;
}

export type PendingDecision =
  | { kind: 'wait'; inMs: number }
  /** Poll its status now, not at the next regular time. */
  | { kind: 'ask' }
  /** Status unknown, then `decideUnknown`. */
  | { kind: 'unknown' }
  | { kind: 'park'; reason: string };

/**
 * Decides about a pending batch: past its deadline it is polled once more, then unknown; after
 * `OVERDUE_MAX` deadlines its lane halts and reports it. Never skipped.
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
    reason: `pending for too long: it passed its deadline ${overdue} ${overdue === 1 ? 'time' : 'times'} without an end`,
  };
};
