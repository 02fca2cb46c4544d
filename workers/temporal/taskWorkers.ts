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

/**
 * Creates the leaders' worker, one for the calls of each handler, and one for the work of this very
 * process: chunks, and calls in its partitions.
 */
export const createWorkers = async (
  options: NodeOptions,
  identity: string,
  activities: object,
  sinks: InjectedSinks<AlarmSinks>,
  hasOwnQueue: boolean,
): Promise<Worker[]> => {
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
  const leaders = Worker.create({
    ...common,
    ...ISOLATE_LIMIT,
    workflowBundle: options.workflowBundle ?? (await workflowBundle(options, options.log)),
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
    Worker.create({
      ...common,
      taskQueue: handlerTaskQueue(prefix, handler.name),
      // Dispatches, each with many calls.
      maxConcurrentActivityTaskExecutions: 50,
      activityTaskPollerBehavior: FEW_POLLS,
    }),
  );
  const own = hasOwnQueue
    ? [
        Worker.create({
          ...common,
          taskQueue: nodeTaskQueue(prefix, identity),
          maxConcurrentActivityTaskExecutions: 100,
          activityTaskPollerBehavior: FEW_POLLS,
        }),
      ]
    : [];
  return Promise.all([leaders, ...submitters, ...own]);
};

export const deploymentOptions = (version: Versioning): WorkerDeploymentOptions => ({
  version,
  useWorkerVersioning: true,
  defaultVersioningBehavior: 'PINNED',
});

export const checkWorker = (worker: Worker): void => {
  const { runState, workflowPollerState, activityPollerState } = worker.getStatus();
  if ([runState, workflowPollerState, activityPollerState].includes('FAILED'))
    throw new Error(
      `the worker of task queue ${worker.options.taskQueue} has failed: run ${runState}, polls of workflow tasks ${workflowPollerState}, of activities ${activityPollerState}`,
    );
};

/** Runs until all have ended; one that fails stops the others, and is reported. */
export const runWorkers = async (
  workers: readonly Worker[],
  {
    start,
    stop,
    shutdown,
    draining,
    log,
  }: {
    start: () => Promise<void>;
    stop: () => Promise<void>;
    shutdown: () => void;
    draining: AbortSignal;
    log: Pick<NodeOptions['log'], 'error'>;
  },
): Promise<void> => {
  await start();
  try {
    let failure: unknown;
    const runs = workers.map((worker) =>
      worker.run().catch((error: unknown) => {
        // The SDK's error says neither what was in progress nor, at a stop, what went wrong first.
        log.error({ taskQueue: worker.options.taskQueue, status: worker.getStatus(), err: error }, 'a worker failed');
        failure ??= error;
        shutdown(); // the others drain, then it is reported
      }),
    );
    if (draining.aborted) shutdown(); // it was asked to stop while it started
    await Promise.all(runs);
    if (failure !== undefined) throw failure;
  } finally {
    await stop();
  }
};
