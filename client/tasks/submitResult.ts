import type { Queryable } from '../../postgres/pool';
import type { TaskInput } from './checkTasks';
import type { TaskProblem } from '../errors';
import type { Labels } from '../../postgres/grouping/labels';

/** Options of `submit`. */
export interface SubmitOptions {
  /**
   * Accept the valid tasks, and return the problems of the others as `refused`. Default: false, so
   * that nothing is accepted from a call with a problem.
   */
  partial?: boolean;
  /**
   * The caller's own Postgres transaction: the tasks are accepted if and only if it commits. A `pg`
   * client after BEGIN, or another library's transaction through its adapter, such as
   * `fromDrizzle(tx)`. Default: a transaction of Muster's.
   */
  tx?: Queryable;
  /**
   * The W3C trace context that the tasks belong to (a `traceparent` header) where no span of
   * OpenTelemetry is active. Default: none. A malformed one is no error.
   */
  traceparent?: string;
  /**
   * Called with the checked tasks before anything is written; what it throws refuses the call.
   *
   * @internal
   */
  admit?: Admit;
  /**
   * Called with the lanes' services once the lanes are registered, before anything is bound to them
   * or written; what it throws refuses the call.
   *
   * @internal
   */
  admitLanes?: AdmitLanes;
}

/** What is known of a task before it is stored. */
export interface Checked {
  readonly target: string;
  /** As JSON. */
  readonly payload: string;
  /** Of the payload. */
  readonly bytes: number;
  /** Null or absent: it has none. */
  readonly labels?: Labels | null;
  /** The same: that of `distinctBy` or `coalesceBy`. */
  readonly key?: string | null;
}

/** Refuses tasks by throwing; `keys`: the state keys of the batches that they are in. */
export type Admit = (tasks: readonly Checked[], keys?: readonly string[]) => Promise<void>;

/** Refuses lanes by throwing. What is registered, and whose it is, does not change any more. */
export type AdmitLanes = (services: readonly string[]) => Promise<void>;

/** What a commit has given work to. */
export interface Rung {
  targetIds: readonly number[];
  /** Lanes of an ordered handler, which are rung in place of its targets. */
  laneIds: readonly number[];
  /** Some of the tasks have dependencies, which may all have ended. */
  hasDependents: boolean;
}

/** What a call, or a chunk of a stream, has stored. */
export interface Stored {
  accepted: number;
  repeated: number;
  refused: TaskProblem[];
  rung: Rung;
}

/** Wakes what has something to do; never throws. */
type Ring = (rung: Rung) => Promise<void>;

/** The result of `submit`. */
export interface SubmitResult {
  /** Number of new tasks that are stored (and committed, unless `tx` was given). */
  accepted: number;
  /** Number of tasks that existed before with the same content. */
  repeated: number;
  /**
   * With `partial`: the problems of the other tasks, for a stream at most 1,000. Otherwise empty.
   */
  refused: TaskProblem[];
  /** Targets whose leaders, or in lanes whose queuers, are woken. */
  targetIds: number[];
  /**
   * Wakes the workers of these tasks, in lanes or not: after a submit with `tx`, once your
   * transaction has committed. Otherwise the sweeper finds them within 5 s. Never throws, waits at
   * most half a second for Temporal, and does no harm after a rollback.
   */
  ring(): Promise<void>;
}

/** The result of a submit, which knows what to wake. */
export class RingingResult implements SubmitResult {
  readonly accepted: number;
  readonly repeated: number;
  readonly refused: TaskProblem[];
  readonly targetIds: number[];
  // Private to the language, so that a result is printed and compared without them.
  readonly #rung: Rung;
  readonly #ring: Ring;

  constructor({ accepted, repeated, refused, rung }: Stored, ring: Ring) {
    this.accepted = accepted;
    this.repeated = repeated;
    this.refused = refused;
    this.targetIds = [...rung.targetIds];
    this.#rung = rung;
    this.#ring = ring;
  }

  ring(): Promise<void> {
    return this.#ring(this.#rung);
  }
}

/** One task, an array of at most 10,000 tasks, or a stream of any length. */
export type TaskSource<P = unknown> = TaskInput<P> | readonly TaskInput<P>[] | AsyncIterable<TaskInput<P>>;
