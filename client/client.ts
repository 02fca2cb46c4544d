import type { Client as TemporalClient } from '@temporalio/client';
import type { CompletionTold, CompletionWhat } from '../activities/accepted/completion';
import type { Handler } from '../handlers/types';
import { checkSchema } from '../postgres/migrating/migrate';
import type { Pool } from '../postgres/pool';
import { createPool } from '../postgres/pool';
import { WAKE_LEASE_MS } from '../postgres/grouping/ring';
import type { Explanation } from '../workflows/planning/explain';
import { DEFAULT_PREFIX } from '../workflows/naming';
import * as batches from './operations/batch';
import { Behind } from '../workflows/behind';
import * as cancels from './operations/cancel';
import type { CancelledBatch } from './lanes/cancelBatch';
import { cancelBatch } from './lanes/cancelBatch';
import * as completions from './operations/complete';
import type { CheckedTask, TaskInput } from './tasks/checkTasks';
import { checkTask } from './tasks/checkTasks';
import { connectTemporal } from './connectTemporal';
import * as control from './operations/control';
import type { TaskProblem } from './errors';
import { InvalidTaskError, TooManyTasksError, UnknownHandlerError } from './errors';
import * as explains from './operations/explain';
import * as redrives from './operations/redrive';
import * as resolves from './operations/resolve';
import { LaneRinger } from './lanes/ringer';
import { ExecutionVerbs } from './executions/verbs';
import { Ringer } from './tasks/ringer';
import * as reports from './operations/status';
import { TaskInserter } from './tasks/taskInserter';
import type { SubmitOptions, SubmitResult, TaskSource } from './tasks/submitResult';
import { submitStream } from './tasks/submitStream';
import * as tellings from './tasks/telling';
import { telling } from './tasks/telling';
import * as reads from './tasks/read';
import * as verifies from './operations/verify';
import type * as views from './views';
import * as waits from './tasks/waitFor';
import type { ClientOptions } from './clientOptions';

/** Most tasks of one `submit` call with an array. */
export const MAX_TASKS_PER_CALL = 10_000;
/**
 * A submit of at least this many tasks resolves with its commit, and its ring follows unawaited,
 * shared with later ones' (`close` waits for it): a ring looks at every target touched, and a
 * producer of many tasks would wait for it longer than for the commit. Smaller ones wait: a script
 * may end.
 */
const RING_BEHIND_FROM = 50;

/**
 * The library: submits tasks, waits for their ends, looks at them, and steers. Everything that a
 * method says is of Postgres; Temporal is only told to look. Every method may throw a
 * `MusterError`: its `code` is stable, and `outcome` says whether to repeat the call.
 */
export class Client extends ExecutionVerbs {
  readonly pool: Pool;
  readonly prefix: string;
  readonly handlers: ReadonlyMap<string, Handler>;
  protected readonly inserter: TaskInserter;
  private readonly behind: Behind;
  private readonly ringer: Ringer;
  protected readonly laneRinger: LaneRinger;
  protected readonly schema: string;
  private schemaChecked: Promise<void> | null = null;
  private temporalMemo: Promise<TemporalClient> | null = null;

  constructor(private readonly options: ClientOptions) {
    super();
    this.pool =
      options.pool ??
      createPool({
        databaseUrl: options.databaseUrl,
        schema: options.schema,
        max: options.maxConnections,
        applicationName: 'muster client',
      });
    this.prefix = options.prefix ?? DEFAULT_PREFIX;
    this.handlers = new Map((options.handlers ?? []).map((handler) => [handler.name, handler]));
    this.schema = options.schema ?? 'muster';
    this.inserter = new TaskInserter(this.pool, this.schema);
    this.behind = new Behind(() => this.temporal(), options.onRingFailure ?? (() => undefined));
    this.ringer = new Ringer(this.pool, this.behind, this.prefix, WAKE_LEASE_MS);
    this.laneRinger = new LaneRinger(this.pool, this.behind, this.prefix);
  }

  /** Returns the Temporal client; connects on first use. */
  temporal(): Promise<TemporalClient> {
    this.temporalMemo ??= connectTemporal(this.options.temporal).catch((error: unknown) => {
      this.temporalMemo = null;
      throw error;
    });
    return this.temporalMemo;
  }

  /**
   * Submits one task, many (at most 10,000: one transaction), or a stream of any length (in chunks,
   * bounded memory). Resolves when accepted: committed. Given the handler itself in place of its
   * name, the compiler checks the payloads. Throws `InvalidTaskError`, `UnknownHandlerError`,
   * `TooManyTasksError`, `BackloggedError`: of that call or chunk nothing was accepted.
   */
  submit<P, I>(handler: Handler<P, I>, tasks: TaskSource<NoInfer<I>>, options?: SubmitOptions): Promise<SubmitResult>;
  submit(handler: string, tasks: TaskSource, options?: SubmitOptions): Promise<SubmitResult>;
  async submit(named: string | Handler, tasks: TaskSource, options: SubmitOptions = {}): Promise<SubmitResult> {
    const handler = this.handler(typeof named === 'string' ? named : named.name);
    const isStream = isAsyncIterable(tasks);
    return telling(isStream ? tellings.SUBMIT_STREAM : tellings.SUBMIT, async () => {
      await this.ready();
      if (!isStream)
        return this.submitCall(
          handler,
          Array.isArray(tasks) ? (tasks as readonly TaskInput[]) : [tasks as TaskInput],
          options,
        );
      return submitStream(tasks, (chunk) => this.submitCall(handler, chunk, options));
    });
  }

  /** Returns the handler of this name; throws `UnknownHandlerError`. */
  handler(name: string): Handler {
    const handler = this.handlers.get(name);
    if (handler === undefined) throw new UnknownHandlerError(name, [...this.handlers.keys()]);
    return handler;
  }

  /** Checks once that the tables are there and of a version that this program knows. */
  ready(): Promise<void> {
    this.schemaChecked ??= checkSchema(this.pool).then(
      () => undefined,
      (error: unknown) => {
        this.schemaChecked = null;
        throw error;
      },
    );
    return this.schemaChecked;
  }

  /**
   * Wakes the leaders of these targets; never throws, and waits half a second for Temporal at most.
   */
  ring(targetIds: Iterable<number>): Promise<void> {
    return this.ringer.ring(targetIds);
  }

  /** Returns one task as it is now; null: none has this id, or its retention has ended. */
  getTask(id: string): Promise<views.TaskView | null> {
    return reads.getTask(this, id);
  }

  /** Returns at most 1,000 tasks in the order of the ids; those that do not exist are left out. */
  getTasks(ids: readonly string[]): Promise<views.TaskView[]> {
    return reads.getTasks(this, ids);
  }

  /**
   * Resolves with the tasks when all have ended or are parked (`unknown`); any number of ids.
   * Throws `NotFoundError`; `WaitTimeoutError` after `timeoutMs`: the tasks continue.
   */
  waitFor(ids: string | readonly string[], options?: waits.WaitOptions): Promise<views.TaskView[]> {
    return waits.waitFor(this, ids, options);
  }

  /** Makes the ready tasks of a handler, or of one target, due at once. */
  flush(handler: string, target?: string): Promise<{ targets: number; tasks: number }> {
    return telling(tellings.CHANGE_IN_STEPS, () => control.flush(this, handler, target));
  }

  /**
   * Cancels a lane batch that has not been sent, or asks the downstream to stop one that it
   * accepted; `NotCancellableError` says why it cannot.
   */
  cancelBatch(batch: number): Promise<CancelledBatch> {
    return telling(tellings.CHANGE, () => cancelBatch(this, batch));
  }

  /**
   * Cancels tasks that are still created; in a lane also those of batches that have not been sent,
   * if all tasks of a batch are named.
   */
  cancel(ids: string | readonly string[]): Promise<views.Cancellation> {
    return telling(tellings.CHANGE_IN_STEPS, () => cancels.cancel(this, ids));
  }

  /** Stops calls of a handler, or of one target; calls in flight end, submits are accepted. */
  pause(handler: string, options?: control.PauseOptions): Promise<{ paused: true }> {
    return telling(tellings.CHANGE, () => control.pause(this, handler, options));
  }

  /** Lets a paused handler, or one target, continue. */
  resume(handler: string, options?: { target?: string }): Promise<{ resumed: true }> {
    return telling(tellings.CHANGE_IN_STEPS, () => control.resume(this, handler, options));
  }

  /** Sets one target's settings in place of the handler's; null removes them. */
  setTarget(handler: string, target: string, overrides: views.TargetOverrides | null): Promise<void> {
    return telling(tellings.CHANGE, () => control.setTarget(this, handler, target, overrides));
  }

  /** Sends failed, dead or parked tasks again, with fresh attempts. `NotFoundError`. */
  redrive(handler: string, options: redrives.RedriveOptions): Promise<{ redriven: number }> {
    return telling(tellings.CHANGE_IN_STEPS, () => redrives.redrive(this, handler, options));
  }

  /** Ends an unknown outcome by hand. `NotUnknownError`: it is not parked. */
  resolve(what: resolves.ResolveWhat, verdict: resolves.Verdict): Promise<{ resolved: number }> {
    return telling(tellings.CHANGE, () => resolves.resolve(this, what, verdict));
  }

  /**
   * Tells what became of an accepted batch, in place of being asked. A repeat gets the same
   * answer. Throws `CompletionTooEarlyError` (repeat it), `CompletionStaleError`.
   */
  async complete(handler: string, told: CompletionWhat & CompletionTold): Promise<completions.CompletionAnswer> {
    return telling(tellings.COMPLETE, () => completions.complete(this, this.handler(handler), told));
  }

  /**
   * Counts tasks per handler and state, in one snapshot; projected from a sample above 50,000 rows
   * (`estimated`), unless `exact`: seconds per million.
   */
  status(handler?: string, options?: { exact?: boolean }): Promise<views.HandlerStatus[]> {
    return reports.status(this, handler, options);
  }

  /** Returns a page of a handler's targets by key: what waits, when it is due, what holds it. */
  targets(handler: string, options?: reports.TargetsOptions): Promise<views.TargetStatus[]> {
    return reports.targets(this, handler, options);
  }

  /** Returns one batch with its first members, 100 unless `members` says more; null: none. */
  batch(id: number, options?: { members?: number }): Promise<views.BatchView | null> {
    return batches.batch(this, id, options);
  }

  /** Explains where a task is, what it waits for and its earliest next step. */
  explain(id: string): Promise<Explanation> {
    return explains.explain(this, id);
  }

  /**
   * Looks for violated invariants in the store: in a part of large tables, or with `full` in
   * everything.
   */
  verify(options?: verifies.VerifyOptions): Promise<views.Verification> {
    return verifies.verify(this, options);
  }

  /** Sends wakes after a commit, as `ring` does; never throws. */
  wake(send: (temporal: TemporalClient) => Promise<Error | null>): Promise<void> {
    return this.behind.wake(send);
  }

  /** Called when a wake did not arrive; the sweeper repeats it. */
  wakeFailed(error: Error): void {
    this.behind.failed(error);
  }

  /** Waits for rings in progress, then closes the connections that it opened itself. */
  async close(): Promise<void> {
    await this.behind.idle();
    if (this.options.temporal?.client === undefined)
      await (await this.temporalMemo?.catch(() => null))?.connection.close();
    if (this.options.pool === undefined) await this.pool.end();
  }

  private async submitCall(
    handler: Handler,
    tasks: readonly TaskInput[],
    options: SubmitOptions,
  ): Promise<SubmitResult> {
    if (tasks.length > MAX_TASKS_PER_CALL) throw new TooManyTasksError(MAX_TASKS_PER_CALL, tasks.length);
    const problems: TaskProblem[] = [];
    const checked = tasks
      .map((task, index) => checkTask(handler, task, index, problems))
      .filter((task): task is CheckedTask => task !== null);
    if (problems.length > 0 && options.partial !== true) throw new InvalidTaskError(problems);
    if (checked.length === 0) return { accepted: 0, repeated: 0, refused: problems, targetIds: [] };
    const stored = await this.inserter.store(handler, checked, {
      partial: options.partial ?? false,
      ...(options.tx === undefined ? {} : { tx: options.tx }),
    });
    // In the caller's transaction there is nothing to ring for yet: its commit comes later, and the
    // sweeper finds the tasks within seconds.
    const { laneIds, ...answer } = stored;
    if (options.tx === undefined) {
      const rung = laneIds.length > 0 ? this.laneRinger.ring(laneIds) : this.ring(stored.targetIds);
      if (tasks.length < RING_BEHIND_FROM) await rung;
    }
    return { ...answer, refused: [...problems, ...stored.refused] };
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<TaskInput> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** Makes a client; nothing is connected before its first call. Close it at the end. */
export const createClient = (options: ClientOptions): Client => new Client(options);
