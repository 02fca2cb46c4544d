/**
 * The states of a task and of a batch, and why a batch closed. One place; SQL stores the numbers
 * (`postgres/migrations`), people see the names.
 *
 *     created ──claim──▶ batched ──mark──▶ in-progress ──settle──▶ succeeded · failed · dead
 *        ▲                  │                  │  ├──────────────▶ unknown ──resolve──▶ succeeded · failed · created
 *        │                  └── handed back ───┘  └── retry, refused handler: created again
 *        └── redrive of failed, dead, unknown          cancel of created ▶ cancelled
 *
 * `batched` and `in-progress` are one stored number: a batch is in progress when an attempt was
 * marked (attempt > 0).
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
 * `dissolved` (stored 7): every member went elsewhere: put back, or into the halves of a bisect.
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
  /** Submitted to a lane as a batch. */
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
 * Says whether a task has ended: it never changes again except by redrive. `unknown` is not an end:
 * it waits for `resolve`.
 */
export const isTerminal = (state: TaskState): boolean =>
  state === 'succeeded' || state === 'failed' || state === 'dead' || state === 'cancelled';
