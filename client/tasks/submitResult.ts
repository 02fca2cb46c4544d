import type { Queryable } from '../../postgres/pool';
import type { TaskInput } from './checkTasks';
import type { TaskProblem } from '../errors';

/** Options of `submit`. */
export interface SubmitOptions {
  /**
   * Accept the valid tasks, and return the problems of the others as `refused`. Default: false, so
   * that nothing is accepted from a call with a problem.
   */
  partial?: boolean;
  /**
   * The caller's own Postgres transaction (a `pg` client after BEGIN): the tasks are accepted if
   * and only if it commits. Default: a transaction of Muster's.
   */
  tx?: Queryable;
  /**
   * Called with the checked tasks before anything is written; what it throws refuses the call.
   *
   * @internal
   */
  admit?: Admit;
}

/** What is known of a task before it is stored. */
export interface Checked {
  readonly target: string;
  /** As JSON. */
  readonly payload: string;
  /** Of the payload. */
  readonly bytes: number;
}

/** Refuses tasks by throwing. */
export type Admit = (tasks: readonly Checked[]) => Promise<void>;

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
  /**
   * Targets whose leaders, or in lanes whose queuers, are woken. After a submit with `tx`, pass
   * them to `ring` once the transaction has committed; otherwise the sweeper finds the tasks within
   * 5 s.
   */
  targetIds: number[];
}

/** One task, an array of at most 10,000 tasks, or a stream of any length. */
export type TaskSource<P = unknown> = TaskInput<P> | readonly TaskInput<P>[] | AsyncIterable<TaskInput<P>>;
