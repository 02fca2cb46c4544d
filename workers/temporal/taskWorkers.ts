import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import type { InjectedSinks, WorkerDeploymentOptions, WorkerOptions } from '@temporalio/worker';
import type { AlarmSinks } from '../../workflows/loops/alarm';
import { handlerTaskQueue, nodeTaskQueue, workflowTaskQueue } from '../../workflows/naming';
import { ISOLATE_LIMIT } from './isolate';
import { workerDataConverter } from './dataConverter';
import { workerInterceptors } from './plugs';
import type { Versioning } from './versioning';
import { workflowBundle } from './workflowBundle';
import { WORKFLOW_FAILURES } from './workflowFailures';
import { NamespaceWatch } from '../namespaceWatch';
import type { NodeOptions } from '../nodeOptions';

/**
 * Workflow tasks that a process works on at once. There is one workflow thread: more tasks only
 * share its time, so that on a starved machine all of them pass their timeout, where a few would
 * end in time one after another. Enough for the claims that wait for the store: a thousand turns of
 * 25 leaders take as long as with 40 at once.
 */
const WORKFLOW_TASKS_AT_ONCE = 16;
/**
 * A config may have many handlers, each with its own queue: one open poll each, and more only while
 * there is work.
 */
const FEW_POLLS: NonNullable<WorkerOptions['activityTaskPollerBehavior']> = {
  type: 'autoscaling',
  minimum: 1,
  initial: 1,
};

export type MakeWorker = () => Promise<Worker>;

/**
 * Returns what makes the leaders' worker, one for the calls of each handler, and one for the work
 * of this very process: chunks, and calls in its partitions.
 */
export const workerMakers = async (
  options: NodeOptions,
  identity: string,
  activities: object,
  sinks: InjectedSinks<AlarmSinks>,
  hasOwnQueue: boolean,
): Promise<MakeWorker[]> => {
  const { connection, namespace, prefix, handlers } = options;
  const graceMs = options.shutdownGraceMs ?? 20_000;
  const common = {
    connection,
    namespace,
    identity,
    activities,
    dataConverter: workerDataConverter(options.dataConverter),
    interceptors: workerInterceptors(options.interceptors),
    shutdownGraceTime: graceMs,
    shutdownForceTime: graceMs + 10_000,
  };
  const bundle = options.workflowBundle ?? (await workflowBundle(options, options.log));
  const leaders = makerOf({
    ...common,
    ...ISOLATE_LIMIT,
    workflowBundle: bundle,
    taskQueue: workflowTaskQueue(prefix),
    ...(options.versioning === undefined ? {} : { workerDeploymentOptions: deploymentOptions(options.versioning) }),
    ...WORKFLOW_FAILURES,
    sinks,
    // What a dead worker's sticky queue costs per workflow before another worker takes over; the
    // SDK's default is 10 s.
    stickyQueueScheduleToStartTimeout: 2_000,
    maxCachedWorkflows: options.maxCachedWorkflows ?? 500,
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS_AT_ONCE,
    workflowTaskPollerBehavior: FEW_POLLS,
    activityTaskPollerBehavior: FEW_POLLS,
    maxConcurrentLocalActivityExecutions: 20,
    maxConcurrentActivityTaskExecutions: 20,
  });
  const submitters = handlers.map((handler) =>
    makerOf({
      ...common,
      taskQueue: handlerTaskQueue(prefix, handler.name),
      // Dispatches, each with many calls.
      maxConcurrentActivityTaskExecutions: 50,
      activityTaskPollerBehavior: FEW_POLLS,
    }),
  );
  const own = hasOwnQueue
    ? [
        makerOf({
          ...common,
          taskQueue: nodeTaskQueue(prefix, identity),
          maxConcurrentActivityTaskExecutions: 100,
          activityTaskPollerBehavior: FEW_POLLS,
        }),
      ]
    : [];
  return [leaders, ...submitters, ...own];
};

const makerOf =
  (options: WorkerOptions): MakeWorker =>
  () =>
    Worker.create(options);

export const deploymentOptions = (version: Versioning): WorkerDeploymentOptions => ({
  version,
  useWorkerVersioning: true,
  defaultVersioningBehavior: 'PINNED',
});

const checkWorker = (worker: Worker): void => {
  const { runState, workflowPollerState, activityPollerState } = worker.getStatus();
  if ([runState, workflowPollerState, activityPollerState].includes('FAILED'))
    throw new Error(
      `the worker of task queue ${worker.options.taskQueue} has failed: run ${runState}, polls of workflow tasks ${workflowPollerState}, of activities ${activityPollerState}`,
    );
};

/** Time between two tries to make a worker anew. */
const AGAIN_MS = 2_000;

interface Place {
  readonly make: MakeWorker;
  worker: Worker;
  /** Resolves when the worker has ended. */
  run: Promise<void>;
  /** The worker is to end, and another comes in its place. */
  isLeaving: boolean;
}

/**
 * The workers of a process. Each is replaced when their namespace was: what it polls is not there
 * any more.
 */
export class TaskWorkers {
  /** What `run` waits for. */
  private readonly open = new Set<Promise<void>>();
  private failure: unknown;
  private isShutDown = false;

  private constructor(
    private readonly places: readonly Place[],
    private readonly log: Pick<NodeOptions['log'], 'error' | 'warn'>,
  ) {}

  static async make(
    makers: readonly MakeWorker[],
    log: Pick<NodeOptions['log'], 'error' | 'warn'>,
  ): Promise<TaskWorkers> {
    const place = async (make: MakeWorker): Promise<Place> => ({
      ...{ make, worker: await make(), run: Promise.resolve(), isLeaving: false },
    });
    return new TaskWorkers(await Promise.all(makers.map(place)), log);
  }

  /** Throws if one of them, or one of its pollers, has failed. */
  check(): void {
    for (const { worker, isLeaving } of this.places) if (!isLeaving) checkWorker(worker);
  }

  /** Takes no new work; running work ends within the grace. */
  shutdown(): void {
    this.isShutDown = true;
    for (const { worker } of this.places) shutDown(worker);
  }

  /**
   * Runs until all have ended. `onFailure`: one failed; the others are to be shut down. `polled`:
   * the namespace that is watched; left out: none is.
   */
  async run(onFailure: () => void, polled?: Pick<NodeOptions, 'connection' | 'namespace'>): Promise<void> {
    const { log } = this;
    const onReplaced = (): Promise<void> => this.replace(onFailure);
    const watch = polled === undefined ? null : new NamespaceWatch({ ...polled, log, onReplaced });
    watch?.start();
    for (const place of this.places) this.start(place, onFailure);
    if (this.isShutDown) this.shutdown(); // it was asked to stop while it started
    while (this.open.size > 0) await Promise.all(this.open);
    watch?.stop();
    if (this.failure !== undefined) throw this.failure;
  }

  /**
   * Ends each as at a shutdown and has another do its work from then on: the SDK allows no two at a
   * time.
   */
  replace(onFailure: () => void): Promise<void> {
    const each = async (place: Place): Promise<void> => {
      if (place.isLeaving) return; // another comes already
      place.isLeaving = true;
      shutDown(place.worker);
      await place.run;
      const next = await this.makeAgain(place.make);
      if (next === null) return;
      Object.assign(place, { worker: next, isLeaving: false });
      this.start(place, onFailure);
    };
    const all = Promise.all(this.places.map(each)).then(() => undefined);
    this.keep(all);
    return all;
  }

  /** Tries until it can; null: it is to shut down. */
  private async makeAgain(make: MakeWorker): Promise<Worker | null> {
    while (!this.isShutDown) {
      try {
        return await make();
      } catch (err) {
        this.log.warn({ err }, 'a worker could not be made anew; trying again');
        await sleep(AGAIN_MS);
      }
    }
    return null;
  }

  private start(place: Place, onFailure: () => void): void {
    const { worker } = place;
    place.run = worker.run().catch((error: unknown) => {
      // The SDK's error says neither what was in progress nor, at a stop, what went wrong first.
      const status = { taskQueue: worker.options.taskQueue, status: worker.getStatus(), err: error };
      if (place.isLeaving) {
        this.log.warn(status, 'a worker failed that was to be replaced');
        return;
      }
      this.log.error(status, 'a worker failed');
      this.failure ??= error;
      onFailure(); // the others drain, then it is reported
    });
    this.keep(place.run);
    if (this.isShutDown) shutDown(worker);
  }

  private keep(work: Promise<void>): void {
    this.open.add(work);
    void work.finally(() => this.open.delete(work));
  }
}

const shutDown = (worker: Worker): void => {
  if (worker.getState() === 'RUNNING') worker.shutdown();
};
