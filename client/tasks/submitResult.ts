import type { Queryable } from '../../postgres/pool';
import type { TaskInput } from './checkTasks';
import type { TaskProblem } from '../errors';

export interface SubmitOptions {
  /**
   * Accept the valid tasks and return the problems of the others; without it nothing of a bad call
   * is accepted.
   */
  partial?: boolean;
  /** The caller's own Postgres transaction (a `pg` client after BEGIN): accepted iff it commits. */
  tx?: Queryable;
}

export interface SubmitResult {
  accepted: number;
  repeated: number;
  refused: TaskProblem[];
  /**
   * Targets whose leaders are woken. After a submit with `tx`: pass them to `ring` once it has
   * committed, or wait for the sweeper (5 s at most).
   */
  targetIds: number[];
}

export type TaskSource<P = unknown> = TaskInput<P> | readonly TaskInput<P>[] | AsyncIterable<TaskInput<P>>;
