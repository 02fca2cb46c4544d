/**
 * The states of a task and of a batch, and the reasons why a batch closed. This is the only list of
 * them: SQL stores the numbers (`postgres/migrations`), people see the names.
 *
 *     created ──claim──▶ batched ──mark──▶ in-progress ──settle──▶ succeeded · failed · dead
 *        ▲                  │                  │  ├──────────────▶ unknown ──resolve──▶ succeeded · failed · created
 *        │                  └── handed back ───┘  └── retry, refused handler: created again
 *        └── redrive of failed, dead, unknown, succeeded          cancel of created ▶ cancelled
 *
 * The members of an open batch (stored as 1) are `batched`, or `in-progress` once an attempt of the
 * batch is marked (attempt > 0). In a lane, the status of the lane batch decides
 * (`lane_task_state`).
 */
export const TASK_STATES = {
  created: 0,
  batched: 1,
  'in-progress': 2,
  unknown: 3,
  succeeded: 4,
  failed: 5,
  dead: 6,
  cancelled: 7,
} as const;
export type TaskState = keyof typeof TASK_STATES;

/**
 * `dissolved`: every member has left the batch, back to the queue or into the halves of a bisect.
 */
export const BATCH_STATES = { open: 1, unknown: 3, succeeded: 4, failed: 5, dead: 6, dissolved: 7 } as const;
export type BatchState = keyof typeof BATCH_STATES;

export const FLUSH_REASONS = {
  size: 0,
  bytes: 1,
  weight: 2,
  linger: 3,
  quiet: 4,
  manual: 5,
  shutdown: 6,
  bisect: 7,
  split: 8,
  /** The caller submitted it to a lane as a batch. */
  given: 9,
} as const;
export type FlushReason = keyof typeof FLUSH_REASONS;

export const LEADER_STATES = { idle: 0, working: 1, waiting: 2 } as const;
export type LeaderState = keyof typeof LEADER_STATES;

const namesOf = <T extends Record<string, number>>(table: T): ReadonlyMap<number, keyof T & string> =>
  new Map(Object.entries(table).map(([name, code]) => [code, name as keyof T & string]));
const taskStateNames = namesOf(TASK_STATES);
const batchStateNames = namesOf(BATCH_STATES);
const flushReasonNames = namesOf(FLUSH_REASONS);
const leaderStateNames = namesOf(LEADER_STATES);

const nameIn = <N extends string>(names: ReadonlyMap<number, N>, what: string, code: number): N => {
  const name = names.get(code);
  if (name === undefined) throw new Error(`${what}: expected one of ${[...names.keys()].join(', ')}, got ${code}`);
  return name;
};
export const taskStateName = (code: number): TaskState => nameIn(taskStateNames, 'task state', code);
export const batchStateName = (code: number): BatchState => nameIn(batchStateNames, 'batch state', code);
export const flushReasonName = (code: number): FlushReason => nameIn(flushReasonNames, 'flush reason', code);
export const leaderStateName = (code: number): LeaderState => nameIn(leaderStateNames, 'leader state', code);

/**
 * Says whether a task has ended, and changes only by a redrive from now on. A task that is
 * `unknown` has not ended: it waits for `resolve`.
 */
export const isTerminal = (state: TaskState): boolean =>
  state === 'succeeded' || state === 'failed' || state === 'dead' || state === 'cancelled';
