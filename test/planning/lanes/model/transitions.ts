import { isEnded, STATUSES, type LaneBatchStatus } from '../../../../workflows/planning/lanes/statuses';

/**
 * An oracle: what may come after each status, everything else is a bug. The product has no such
 * table, each of its statements moves what it has looked at; the model refuses what the table does
 * not allow, and cancelTable.test.ts holds the product's cancel against it.
 */
const AFTER: Readonly<Record<LaneBatchStatus, readonly LaneBatchStatus[]>> = {
  unsubmitted: ['submitted', 'skipped', 'failed-dependency', 'cancelled'],
  // Only where the downstream keeps dependencies is one not committed when the batch is granted.
  delayed: ['submitted', 'skipped', 'failed-dependency', 'cancelled'],
  // Granted, to be looked up or sent again (C28); or an answer for it comes late.
  unknown: ['submitted', 'unsubmitted', 'pending', 'valid', 'committed', 'invalid', 'parked', 'refused', 'cancelled'],
  submitted: [
    'unsubmitted',
    'delayed',
    'unknown',
    'pending',
    'valid',
    'committed',
    'invalid',
    'parked',
    'refused',
    'cancelled',
  ],
  // Cancelled on request, and the downstream says that it applied nothing of it. Past its deadline,
  // or lost: sent again, where the downstream honours its key.
  pending: ['unsubmitted', 'valid', 'committed', 'invalid', 'unknown', 'parked', 'refused', 'cancelled'],
  valid: ['committed', 'invalid', 'unknown', 'parked', 'cancelled'],
  // By an operator: send again, it was applied, it was refused, go on without it; or a true answer
  // comes late.
  parked: ['unsubmitted', 'committed', 'invalid', 'skipped'],
  // It blocks nothing: it was not applied, and the one after it is asked next.
  refused: ['unsubmitted', 'invalid', 'cancelled'],
  committed: [],
  invalid: [],
  skipped: [],
  'failed-dependency': [],
  cancelled: [],
};

export const ALL_STATUSES = Object.keys(STATUSES) as LaneBatchStatus[];

export const mayBecome = (from: LaneBatchStatus, to: LaneBatchStatus): boolean => AFTER[from].includes(to);

/** @throws Error naming both and what may follow. */
export const checkTransition = (from: LaneBatchStatus, to: LaneBatchStatus): void => {
  if (mayBecome(from, to)) return;
  const expected = isEnded(from) ? 'nothing, it has ended' : AFTER[from].join(', ');
  throw new Error(`lane batch status: after ${from} expected ${expected}; got ${to}`);
};
