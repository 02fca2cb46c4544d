/**
 * The statuses of a submission, that is of a batch in a lane (C20, C26, H9). One place; SQL stores
 * the numbers.
 *
 *     unsubmitted ──grant──▶ submitted ──accepted──▶ pending ──▶ valid ──▶ committed
 *        ▲   ▲                 │  │  └── delayed ◀── refused for now; granted again when its window has passed
 *        │   └── never sent ───┘  │
 *        │                        ├── committed · invalid, from pending and valid too
 *        └── absent ── unknown ◀──┘ no answer, lost, or past its deadline; the older one of a lane is granted, to be looked up
 *        refused ◀── alone of its halved batch, as first: the one after it tells whether it is a poison task (H4) ──▶ invalid · unsubmitted
 *                         └── parked: nobody may decide it but an operator (resend, applied, refused, skip)
 *        cancelled ◀── what the downstream does not have: never sent, granted and not yet marked, refused for now or alone (`cancel.ts`);
 *                      accepted and cancelled on request, once the downstream says that nothing was applied (`cancellation.ts`)
 *
 * Below 10 a submission is open (`submission_open`), from 10 on it has ended and never changes
 * again: an invalid one is never sent again (C11). `pending` and `valid` are what a monitor polls;
 * `submitted` is in flight: handed to a submitter, no status yet.
 */
export const STATUSES = {
  unsubmitted: 0,
  delayed: 1,
  unknown: 2,
  submitted: 3,
  pending: 4,
  valid: 5,
  parked: 6,
  refused: 7,
  committed: 10,
  invalid: 11,
  skipped: 12,
  'failed-dependency': 13,
  cancelled: 14,
} as const;
export type SubmissionStatus = keyof typeof STATUSES;

/** What may come after each status. Everything else is refused. */
export const TRANSITIONS: Readonly<Record<SubmissionStatus, readonly SubmissionStatus[]>> = {
  unsubmitted: ['submitted', 'skipped', 'failed-dependency', 'cancelled'],
  // Its dependencies were committed when it was granted first, and what is committed stays so.
  delayed: ['submitted', 'skipped', 'cancelled'],
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
  // Cancelled on request, and the downstream says that it applied nothing of it.
  pending: ['valid', 'committed', 'invalid', 'unknown', 'parked', 'refused', 'cancelled'],
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

const names = new Map(Object.entries(STATUSES).map(([name, code]) => [code as number, name as SubmissionStatus]));

/** @throws Error for a number that stands for no status. */
export const statusName = (code: number): SubmissionStatus => {
  const name = names.get(code);
  if (name === undefined)
    throw new Error(`submission status: expected one of ${[...names.keys()].join(', ')}, got ${code}`);
  return name;
};

export const mayBecome = (from: SubmissionStatus, to: SubmissionStatus): boolean => TRANSITIONS[from].includes(to);

/** @throws Error naming both and what may follow; the caller's write is then not made. */
export const checkTransition = (from: SubmissionStatus, to: SubmissionStatus): void => {
  if (mayBecome(from, to)) return;
  const may = TRANSITIONS[from];
  const expected = may.length === 0 ? 'nothing, it has ended' : may.join(', ');
  throw new Error(`submission status: after ${from} expected ${expected}; got ${to}`);
};

/** The numbers that may become `to`: for the guard of a static statement, `status = any($n)`. */
export const fromStatuses = (to: SubmissionStatus): number[] =>
  [...names.values()].filter((from) => mayBecome(from, to)).map((from) => STATUSES[from]);

/** It has ended; nothing waits for it in its lane any more. */
export const isEnded = (status: SubmissionStatus): boolean => STATUSES[status] >= 10;

/** Counts towards a lane's pending limit: the downstream has it, or may be getting it now. */
export const isInFlight = (status: SubmissionStatus): boolean =>
  status === 'submitted' || status === 'pending' || status === 'valid';

/**
 * The state of the tasks of such a batch (H9); `lane_task_state` in SQL is the same for the open
 * ones, and a test compares them.
 */
export const TASK_STATE_OF = {
  unsubmitted: 'batched',
  delayed: 'created',
  unknown: 'unknown',
  submitted: 'in-progress',
  pending: 'in-progress',
  valid: 'in-progress',
  parked: 'unknown',
  refused: 'in-progress',
  committed: 'succeeded',
  invalid: 'failed',
  // By an operator, who could not say that it was applied.
  skipped: 'failed',
  'failed-dependency': 'failed',
  cancelled: 'cancelled',
} as const satisfies Record<SubmissionStatus, string>;
