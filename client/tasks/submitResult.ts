import type { Queryable } from '../../postgres/pool';
import type { TaskInput } from './checkTasks';
import type { TaskProblem } from '../errors';

/** How one `submit` is done. */
export interface SubmitOptions {
  /**
   * Accept the valid tasks and return the problems of the others; without it nothing of a bad call
   * is accepted.
   */
  partial?: boolean;
  /** The caller's own Postgres transaction (a `pg` client after BEGIN): accepted iff it commits. */
  tx?: Queryable;
}

/** What became of the tasks of one `submit`. */
export interface SubmitResult {
  /** Tasks that are new, and committed. */
  accepted: number;
  /** Tasks that were there before, with the same content. */
  repeated: number;
  /** With `partial`: what is wrong with the others. */
  refused: TaskProblem[];
  /**
   * Targets whose leaders are woken. After a submit with `tx`: pass them to `ring` once it has
   * committed, or wait for the sweeper (5 s at most).
   */
  targetIds: number[];
}

/** One task, at most 10,000, or a stream of any length. */
export type TaskSource<P = unknown> = TaskInput<P> | readonly TaskInput<P>[] | AsyncIterable<TaskInput<P>>;
