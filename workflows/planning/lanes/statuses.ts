/**
 * The statuses of a lane batch. This is the only list of them; SQL stores the numbers.
 *
 *     unsubmitted ──grant──▶ submitted ──accepted──▶ pending ──▶ valid ──▶ committed
 *        ▲   ▲                 │  │  └── delayed ◀── refused for now; granted again when its window has passed
 *        │   └── never sent ───┘  │
 *        │                        ├── committed · invalid, from pending and valid too
 *        └── absent ── unknown ◀──┘ no answer, lost, or past its deadline;
 *                         │         the oldest one of a lane is granted, to be looked up
 *                         └── parked: only an operator may decide it (resend, applied, refused, skip)
 *        refused ◀── refused alone, as first of a halved batch: the task after it decides
 *                    whether it is a poison task ──▶ invalid · unsubmitted
 *        cancelled ◀── what the downstream does not have: never sent, granted and not yet marked,
 *                      refused for now or alone (`cancel.ts`); accepted and cancelled on request,
 *                      once the downstream says that nothing was applied (`cancellation.ts`)
 *
 * Below 10 a lane batch is open (`lane_batch_open`). From 10 on it has ended and never changes
 * again: an invalid batch is never sent again. A `submitted` batch is with a submitter and has no
 * answer yet. Monitors poll `pending` and `valid` batches.
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
export type LaneBatchStatus = keyof typeof STATUSES;

const names = new Map(Object.entries(STATUSES).map(([name, code]) => [code as number, name as LaneBatchStatus]));

/**
 * Returns the name of a stored status.
 *
 * @throws Error for a number that stands for no status.
 */
export const statusName = (code: number): LaneBatchStatus => {
  const name = names.get(code);
  if (name === undefined)
    throw new Error(`lane batch status: expected one of ${[...names.keys()].join(', ')}, got ${code}`);
  return name;
};

/** Says whether the batch has ended: no batch of its lane waits for it any more. */
export const isEnded = (status: LaneBatchStatus): boolean => STATUSES[status] >= 10;

/**
 * Says whether the batch counts towards its lane's pending limit: the downstream has it, or may be
 * receiving it now.
 */
export const isInFlight = (status: LaneBatchStatus): boolean =>
  status === 'submitted' || status === 'pending' || status === 'valid';
