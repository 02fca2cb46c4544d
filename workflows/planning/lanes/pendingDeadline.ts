/**
 * The number of deadlines after which a batch is parked and halts its lane. At each deadline
 * before, the batch becomes unknown, and then pending again if it is found accepted or is sent
 * again.
 */
export const OVERDUE_MAX = 3;

/**
 * Decides about a batch that the downstream accepted, and that is still pending when it is polled
 * after a deadline (`poll.deadlineMs` after it was last accepted). Returns why it is parked, which
 * halts its lane; null: it becomes unknown, and `decideUnknown` decides. `overdue`: how many
 * deadlines it has passed, including this one. It is never skipped, and never pending without end.
 */
export const parkedAtDeadline = (overdue: number, overdueMax: number): string | null =>
  overdue < overdueMax
    ? null
    : `pending for too long: it passed its deadline ${overdue} ${overdue === 1 ? 'time' : 'times'} without an end`;
