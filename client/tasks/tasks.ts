import type { Handler } from '../../handlers/types';
import type { Explanation } from '../../workflows/planning/explain';
import type { Connection } from '../connection';
import type { TaskProblem } from '../errors';
import { InvalidTaskError, TooManyTasksError } from '../errors';
import * as cancels from '../operations/cancel';
import * as explains from '../operations/explain';
import * as redrives from '../operations/redrive';
import * as resolves from '../operations/resolve';
import type * as views from '../views';
import type { CheckedTask, TaskInput } from './checkTasks';
import { checkTask } from './checkTasks';
import * as reads from './read';
import type { SubmitOptions, SubmitResult, TaskSource } from './submitResult';
import { submitStream } from './submitStream';
import * as texts from './failureTexts';
import { withFailureTexts } from './failureTexts';
import * as waits from './waitFor';

/** Most tasks of one `submit` call with an array. */
export const MAX_TASKS_PER_CALL = 10_000;
/**
 * A submit of at least this many tasks resolves with its commit, and its ring follows unawaited,
 * shared with later ones' (`close` waits for it): a ring looks at every target touched, and a
 * producer of many tasks would wait for it longer than for the commit. Smaller ones wait: a script
 * may end.
 */
const RING_BEHIND_FROM = 50;

/** The verbs for tasks: `muster.tasks`. */
export class Tasks {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Submits one task, many (at most 10,000: one transaction), or a stream of any length (in chunks,
   * bounded memory). Resolves when accepted: committed. Given the handler itself in place of its
   * name, the compiler checks the payloads. Throws `InvalidTaskError`, `UnknownHandlerError`,
   * `TooManyTasksError`, `BackloggedError`: of that call or chunk nothing was accepted.
   */
  submit<P, I>(handler: Handler<P, I>, tasks: TaskSource<NoInfer<I>>, options?: SubmitOptions): Promise<SubmitResult>;
  submit(handler: string, tasks: TaskSource, options?: SubmitOptions): Promise<SubmitResult>;
  async submit(named: string | Handler, tasks: TaskSource, options: SubmitOptions = {}): Promise<SubmitResult> {
    const { connection } = this;
    const handler = connection.handler(typeof named === 'string' ? named : named.name);
    const isStream = isAsyncIterable(tasks);
    return connection.write(isStream ? texts.SUBMIT_STREAM : texts.SUBMIT, () => {
      if (isStream) return submitStream(tasks, (chunk) => submitCall(connection, handler, chunk, options));
      const all = Array.isArray(tasks) ? (tasks as readonly TaskInput[]) : [tasks as TaskInput];
      return submitCall(connection, handler, all, options);
    });
  }

  /** Returns one task as it is now; null: none has this id, or its retention has ended. */
  get(id: string): Promise<views.TaskView | null> {
    return reads.getTask(this.connection, id);
  }

  /** Returns at most 1,000 tasks in the order of the ids; those that do not exist are left out. */
  lookUp(ids: readonly string[]): Promise<views.TaskView[]> {
    return reads.getTasks(this.connection, ids);
  }

  /**
   * Resolves with the tasks when all have ended or are parked (`unknown`); any number of ids.
   * Throws `NotFoundError`; `WaitTimeoutError` after `timeoutMs`: the tasks continue.
   */
  waitFor(ids: string | readonly string[], options?: waits.WaitOptions): Promise<views.TaskView[]> {
    return waits.waitFor(this.connection, ids, options);
  }

  /**
   * Explains where a task is, what it waits for and its earliest next step: from Postgres, and
   * where its leader or queuer has stalled, also from what Temporal says about that run. Throws
   * `NotFoundError`.
   */
  explain(id: string): Promise<Explanation> {
    return explains.explain(this.connection, id);
  }

  /**
   * Cancels tasks that are still created; in a lane also those of batches that have not been sent,
   * if all tasks of a batch are named. What the downstream has accepted is cancelled there. Returns
   * the others with their state, and why they cannot be cancelled; calling it again is safe.
   */
  cancel(ids: string | readonly string[]): Promise<views.Cancellation> {
    return withFailureTexts(texts.CHANGE_IN_STEPS, () => cancels.cancel(this.connection, ids));
  }

  /**
   * Sends failed, dead or parked tasks of a handler again, with fresh attempts, in transactions of
   * at most 1,000. Throws `NotFoundError` for an unknown handler, target or id.
   */
  redrive(handler: string, options: redrives.RedriveOptions): Promise<{ redriven: number }> {
    return withFailureTexts(texts.CHANGE_IN_STEPS, () => redrives.redrive(this.connection, handler, options));
  }

  /**
   * Ends the unknown outcome of parked tasks (at most 10,000) by hand, in one transaction. Throws
   * `NotFoundError`, `NotUnknownError` for a task that is not parked, `InvalidArgumentError` for
   * one of a lane (`lanes.fix`, `lanes.skip`); then nothing was changed.
   */
  resolve(ids: readonly string[], verdict: resolves.Verdict): Promise<{ resolved: number }> {
    return withFailureTexts(texts.CHANGE, () => resolves.resolve(this.connection, { tasks: ids }, verdict));
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<TaskInput> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

const submitCall = async (
  connection: Connection,
  handler: Handler,
  tasks: readonly TaskInput[],
  options: SubmitOptions,
): Promise<SubmitResult> => {
  if (tasks.length > MAX_TASKS_PER_CALL) throw new TooManyTasksError(MAX_TASKS_PER_CALL, tasks.length);
  const problems: TaskProblem[] = [];
  const checked = tasks
    .map((task, index) => checkTask(handler, task, index, problems))
    .filter((task): task is CheckedTask => task !== null);
  if (problems.length > 0 && options.partial !== true) throw new InvalidTaskError(problems);
  if (checked.length === 0) return { accepted: 0, repeated: 0, refused: problems, targetIds: [] };
  const stored = await connection.inserter.store(handler, checked, {
    partial: options.partial ?? false,
    ...(options.tx === undefined ? {} : { tx: options.tx }),
  });
  // In the caller's transaction there is nothing to ring for yet: its commit comes later, and the
  // sweeper finds the tasks within seconds.
  const { laneIds, hasDependents, ...answer } = stored;
  if (options.tx === undefined) {
    // Some may depend only on tasks that have ended.
    if (hasDependents) await connection.releaseDependents();
    const rung = laneIds.length > 0 ? connection.ringLaneIds(laneIds) : connection.ring(stored.targetIds);
    if (tasks.length < RING_BEHIND_FROM) await rung;
  }
  return { ...answer, refused: [...problems, ...stored.refused] };
};
