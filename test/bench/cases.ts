/** What is measured, and the goals that it is compared with. */

export interface BenchCase {
  name: string;
  tasks: number;
  targets: number;
  maxItems: number;
  /**
   * Backlog: far beyond the run; what is not full is flushed when the last task is in. Live: part
   * of the case.
   */
  lingerMs: number;
  /** Live: the tasks arrive evenly over this time. Missing: as fast as they can be submitted. */
  overMs?: number;
  goal: Goal;
}

export interface Goal {
  /** Tasks/s against the harder of the two other floors: set-based, and 16 targets in hand. */
  ratio?: number;
  /** Processor time of all processes, against the set-based floor's, at most. */
  cpu?: number;
  actionsPerTask?: number;
  actionsPerBatch?: number;
  /** Live: p99 of "due to sent" against the SQL poller's, at most. */
  lateness?: number;
  /** Calls against the optimum (backlog) or the greedy rule (live), at most. */
  calls: number;
}

/** WAL of Muster, at most: this for a task and this for a batch. */
export const WAL_PER_TASK = 1_000;
export const WAL_PER_BATCH = 2_500;

/** Calls in flight, on every side: Muster's perHandler and perTarget, the floor's loops. */
export const CALLS_IN_FLIGHT = 16;
/** Tasks of one submit, and of one COPY of the floor. */
export const SUBMIT_CHUNK = 5_000;
/** How often the live case submits what has arrived, both sides. */
export const LIVE_SUBMIT_EVERY_MS = 20;
/** How often the hand-written poller looks. */
export const POLLER_EVERY_MS = 100;

/** Of hand-written SQL's tasks per second, at least. */
const FLOOR = 0.9;
/** Of its processor time, at most. */
const CPU = 1.1;
const BACKLOG_LINGER_MS = 600_000;
const batches = { maxItems: 500, lingerMs: BACKLOG_LINGER_MS };

export const CASES: readonly BenchCase[] = [
  {
    name: 'backlog',
    tasks: 50_000,
    targets: 50,
    ...batches,
    goal: { ratio: FLOOR, cpu: CPU, actionsPerTask: 0.01, calls: 1 },
  },
  {
    name: 'backlog-large',
    tasks: 400_000,
    targets: 50,
    ...batches,
    goal: { ratio: FLOOR, cpu: CPU, actionsPerTask: 0.005, calls: 1 },
  },
  {
    name: 'many-targets',
    tasks: 50_000,
    targets: 1_000,
    ...batches,
    goal: { ratio: FLOOR, cpu: CPU, actionsPerTask: 0.01, calls: 1 },
  },
  {
    name: 'sparse',
    tasks: 50_000,
    targets: 10_000,
    ...batches,
    goal: { ratio: FLOOR, cpu: CPU, actionsPerTask: 0.05, calls: 1 },
  },
  {
    name: 'live',
    tasks: 50_000,
    targets: 50,
    maxItems: 500,
    lingerMs: 2_000,
    overMs: 10_000,
    goal: { lateness: 3, actionsPerBatch: 4, calls: 1.02 },
  },
];

/**
 * The same case with fewer tasks: as many a target as before while that leaves at least five
 * targets.
 */
export const scaled = (benchCase: BenchCase, tasks: number): BenchCase => {
  if (tasks >= benchCase.tasks) return { ...benchCase, tasks };
  const targets = Math.max(Math.min(5, benchCase.targets), Math.round((benchCase.targets * tasks) / benchCase.tasks));
  const overMs =
    benchCase.overMs === undefined ? undefined : Math.max(3_000, (benchCase.overMs * tasks) / benchCase.tasks);
  return { ...benchCase, tasks, targets, ...(overMs === undefined ? {} : { overMs }) };
};
