import type { Contract } from '../../handlers/types';
import type { Explanation } from '../../workflows/planning/explain';
import type { Connection } from '../connection';
import { scopeText, someOf } from '../operations/auditLog';
import * as cancels from '../operations/cancel';
import * as explains from '../operations/explain';
import * as redrives from '../operations/redrive';
import * as resolves from '../operations/resolve';
import type * as views from '../views';
import type { TaskInput } from './checkTasks';
import type { ListTasksOptions } from './list/list';
import { listTasks } from './list/list';
import * as reads from './read';
import { submitCall } from './calls/submitCall';
import type { SubmitOptions, SubmitResult, TaskSource } from './submitResult';
import { RingingResult } from './submitResult';
import { submitStream } from './submitStream';
import * as texts from './failureTexts';
import * as waits from './waitFor';

/** The verbs for tasks: `muster.tasks`. */
export class Tasks {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Submits one task, an array of at most 10,000 tasks in one transaction, or a stream of any
   * length in chunks of bounded memory. Resolves when the tasks are accepted, which means committed
   * (with `tx`: written). Given the contract or handler itself in place of its name, the compiler
   * checks the payloads.
   *
   * Throws `InvalidTaskError`, `UnknownHandlerError`, `TooManyTasksError` and `BackloggedError`;
   * because of a hook `TaskRefusedError` and `HookFailedError`. Then nothing of that call, or of
   * that chunk of a stream, was accepted.
   */
  submit<P, I>(handler: Contract<P, I>, tasks: TaskSource<NoInfer<I>>, options?: SubmitOptions): Promise<SubmitResult>;
  submit(handler: string, tasks: TaskSource, options?: SubmitOptions): Promise<SubmitResult>;
  async submit(named: string | Contract, tasks: TaskSource, options: SubmitOptions = {}): Promise<SubmitResult> {
    const { connection } = this;
    const handler = connection.handler(named);
    const isStream = isAsyncIterable(tasks);
    const stored = await connection.writeIn(options.tx, isStream ? texts.SUBMIT_STREAM : texts.SUBMIT, () => {
      if (isStream) return submitStream(tasks, (chunk) => submitCall(connection, handler, chunk, options));
      const all = Array.isArray(tasks) ? (tasks as readonly TaskInput[]) : [tasks as TaskInput];
      return submitCall(connection, handler, all, options);
    });
    return new RingingResult(stored, (rung) => connection.ringAccepted(rung));
  }

  /**
   * Returns one task as it is now; null: no task has this id, or it was deleted after its retention
   * period.
   */
  get(id: string): Promise<views.TaskView | null> {
    return reads.getTask(this.connection, id);
  }

  /**
   * Returns tasks as they are now, in the order of the ids. Ids that do not exist are left out.
   * Throws `InvalidArgumentError` for more than 1,000 ids.
   */
  lookUp(ids: readonly string[]): Promise<views.TaskView[]> {
    return reads.getTasks(this.connection, ids);
  }

  /**
   * Lists the tasks of a handler that are in one state, without their payloads and results; with
   * null in place of the handler those of all, if the state is one in which tasks have ended. Those
   * come newest first; all others by target, those of a target as they will be
   * sent, then those with a later `notBefore`, those held by `dependsOn`, and those of lanes.
   *
   * A page looks at a bounded number of rows: it may be short, even empty, and still have a `next`.
   * Throws `NotFoundError` for an unknown handler or target.
   */
  list(handler: string | null, options: ListTasksOptions): Promise<views.TaskPage> {
    return listTasks(this.connection, handler, options);
  }

  /**
   * Waits for any number of tasks, and resolves with them once all have ended or are parked
   * (`unknown`). Throws `NotFoundError` for an unknown id, and `WaitTimeoutError` after
   * `timeoutMs`, while the tasks continue.
   */
  waitFor(ids: string | readonly string[], options?: waits.WaitOptions): Promise<views.TaskView[]> {
    return waits.waitFor(this.connection, ids, options);
  }

  /**
   * Explains where a task is, what it waits for, and its earliest next step. The facts come from
   * Postgres, and if the task's leader or queuer has stalled, also from Temporal. Of other tasks
   * with the same key it names those whose ids begin with `namesWithin`; default: all. Throws
   * `NotFoundError` for an unknown id.
   */
  explain(id: string, options: { namesWithin?: string } = {}): Promise<Explanation> {
    return explains.explain(this.connection, id, options.namesWithin);
  }

  /**
   * Cancels tasks that are still `created`, and in a lane also whole batches that have not been
   * sent, if all of their tasks are named. If all tasks of a batch are named that the downstream
   * has accepted, the downstream is asked to cancel it. Returns which tasks were cancelled, and the
   * state of each other one, with the reason why it could not be cancelled (yet). It is safe to
   * call this again.
   */
  cancel(ids: string | readonly string[]): Promise<views.Cancellation> {
    const act = { verb: 'cancel', subject: someOf('task', ids) };
    return this.connection.steer(texts.CHANGE_IN_STEPS, act, () => cancels.cancel(this.connection, ids));
  }

  /**
   * Sends failed, dead or parked tasks of a handler again, with fresh attempts, in transactions of
   * at most 1,000 tasks. Throws `NotFoundError` for an unknown handler, target or id.
   */
  redrive(handler: string, options: redrives.RedriveOptions): Promise<{ redriven: number }> {
    const act = { verb: 'redrive', subject: scopeText(handler, options?.target), detail: options };
    return this.connection.steer(texts.CHANGE_IN_STEPS, act, () => redrives.redrive(this.connection, handler, options));
  }

  /**
   * Decides the unknown outcome of at most 10,000 parked tasks manually, in one transaction. Throws
   * `NotFoundError` for an unknown id, `NotUnknownError` for a task that is not parked, and
   * `InvalidArgumentError` for a task in a lane (use `lanes.fix` or `lanes.skip`). Then nothing was
   * changed.
   */
  resolve(ids: readonly string[], verdict: resolves.Verdict): Promise<{ resolved: number }> {
    const act = { verb: 'resolve', subject: someOf('task', ids), detail: resolves.auditOf(this.connection, verdict) };
    return this.connection.steer(texts.CHANGE, act, () => resolves.resolve(this.connection, { tasks: ids }, verdict));
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<TaskInput> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
