/**
 * Hooks of an installation: `taskAccepted` of the process that submits, the others of the worker.
 * docs/worker.md says when each is called, how often, and what a crash costs.
 */

/** Tasks that passed every check and are about to be accepted. */
export interface AcceptingTasks {
  handler: string;
  tasks: readonly AcceptingTask[];
}

/** One task that is about to be accepted. */
export interface AcceptingTask {
  id: string;
  target: string;
  /** What would be stored: the payload as the handler's schema has parsed it. */
  payload: unknown;
}

/** A batch, as hooks see it. */
export interface HookedBatch {
  handler: string;
  target: string;
  /** Number of the batch, as `muster batch` shows it. */
  batch: string;
  /** Number of the call, from 1; numbers may be left out. */
  attempt: number;
  /** Ids of its tasks, in the order of the batch. */
  tasks: readonly string[];
}

/** The outcome of a call, before it is recorded. */
export interface CallReport extends HookedBatch {
  /** `results`: the downstream reported on each task. */
  outcome: 'results' | 'accepted' | 'later' | 'rejected' | 'halted' | 'unknown';
  /** Null for `results` and `accepted`. */
  error: string | null;
  /** The reference under which the downstream accepted the batch; otherwise null. */
  reference: string | null;
  /** Tasks whose result is not `ok`, of `results`. */
  notOk: readonly { id: string; status: 'retry' | 'failed' | 'unknown'; error: string | null }[];
  /** How long the call took, in milliseconds. */
  ms: number;
}

/** Tasks whose end this worker has recorded. */
export interface EndedTasks extends Omit<HookedBatch, 'tasks'> {
  tasks: readonly EndedTask[];
}

/** The end of one task. */
export interface EndedTask {
  id: string;
  /** `unknown`: parked, until an operator resolves it. */
  state: 'succeeded' | 'failed' | 'dead' | 'cancelled' | 'unknown';
  /** Null for `succeeded`. */
  error: string | null;
}

type Hook<E> = (event: E) => unknown;

/**
 * Functions that are called as tasks move. `taskAccepted` and `beforeCall` are waited for and may
 * refuse; the others observe, and nothing that they do changes an outcome.
 */
export interface Hooks {
  /**
   * Called before tasks are written, once per submit, and per chunk of a stream. Throws a
   * `TaskRefusedError` to refuse them all. Any other error, and no end in time, refuses them too.
   */
  taskAccepted?: Hook<AcceptingTasks>;
  /** Called when a batch was marked for its first call: at most once per batch. */
  batchFormed?: Hook<HookedBatch>;
  /**
   * Called before each call, while it holds its slot; nothing is marked yet. Throws a `LaterError`
   * to put the call off, or a `HaltError` to pause the handler or target: no task loses an attempt.
   * Any other error, and no end in time, puts the call off by the handler's backoff.
   */
  beforeCall?: Hook<HookedBatch>;
  /** Called when a call has ended, before its outcome is recorded: at most once per call. */
  afterCall?: Hook<CallReport>;
  /**
   * Called when ends of tasks are committed: at most once per end, by the worker that recorded it.
   */
  taskEnded?: Hook<EndedTasks>;
  /** Longest that one call of a hook may take, 10 to 60,000 ms. Default 5,000. */
  timeoutMs?: number;
}
