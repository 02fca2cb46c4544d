/**
 * The number of deadlines after which a batch is parked and halts its lane. At each deadline
 * before, the batch becomes unknown, and then pending again if it is found accepted or is sent
 * again.
 */
export const OVERDUE_MAX = 3;

/**
 * A batch that the downstream accepted and that has not ended. It must not stay pending without
 * end.
 */
export interface PendingFacts {
  /**
   * Milliseconds until the handler's `poll.deadlineMs` has passed since the batch was last
   * accepted.
   */
  deadlineInMs: number;
  /** The batch was polled once more after the deadline, and was still pending. */
  askedSince: boolean;
  /** How many deadlines it has passed, including this one. */
  overdue: number;
  overdueMax?: number;
}

export type PendingDecision =
  | { kind: 'wait'; inMs: number }
  /** Poll the batch now, before the next regular time. */
  | { kind: 'ask' }
  /** The status becomes unknown; then `decideUnknown` decides. */
  | { kind: 'unknown' }
  | { kind: 'park'; reason: string };

/**
 * Decides what happens to a pending batch. Past its deadline it is polled once more, and then
 * becomes unknown. After `overdueMax` deadlines it is parked, which halts its lane. It is never
 * skipped.
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
