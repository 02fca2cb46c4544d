import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import os from 'node:os';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import type {
  NativeConnection,
  WorkerDeploymentOptions,
  WorkerOptions,
  WorkflowBundleOption,
} from '@temporalio/worker';
import type { Logger } from 'pino';
import { createActivities } from '../activities';
import type { ActivityDeps, CallbackPolicy } from '../activities/deps';
import { ExecutionMeters } from '../activities/executions/meters';
import { DEFAULT_EXECUTION_SETTINGS } from '../activities/executions/settings';
import type { ExecutionSettings } from '../activities/executions/settings';
import { servedFunctions } from '../activities/executions/executors';
import type { Handler } from '../handlers/types';
import { DEFAULT_NODE_SETTINGS, type NodeSettings } from '../activities/nodes/settings';
import { Partitions } from '../activities/nodes/partitions';
import { ringServed } from '../activities/nodes/served';
import { ThrownLog, withThrownLog } from '../activities/calls/thrownLog';
import { Heartbeat } from '../activities/nodes/heartbeat';
import { withRetries } from '../postgres/errors';
import { registerHandler } from '../postgres/grouping/handler';
import { readInstallation } from '../postgres/installation';
import { checkSchema } from '../postgres/migrating/migrate';
import type { Pool } from '../postgres/pool';
import type { ReapIntervals } from '../postgres/fanouts/reap';
import { handlerTaskQueue, nodeTaskQueue, workflowTaskQueue } from '../workflows/naming';
import { createAcceptTasks } from './acceptTasks';
import { Balancing } from './sweeper/balancing';
import { callbackUrl } from './callbacks/token';
import { wakeWaitingExecutions } from './sweeper/executions';
import { ISOLATE_LIMIT } from './temporal/isolate';
import { Registry } from './registry';
import { registerSearchAttributes } from './temporal/searchAttributes';
import type { StuckLimits } from './sweeper/stuckRun';
import { Sweeper } from './sweeper/sweeper';
import type { SweepCounts } from './sweeper/counts';
import type { TemporalPlugs } from './temporal/plugs';
import { workerDataConverter } from './temporal/dataConverter';
import { clientPlugs, workerInterceptors } from './temporal/plugs';
import { packageVersion } from './temporal/versioning';
import type { Versioning } from './temporal/versioning';
import { workflowBundle } from './temporal/workflowBundle';
import { WORKFLOW_FAILURES } from './temporal/workflowFailures';

export interface NodeOptions extends TemporalPlugs {
  pool: Pool;
  connection: NativeConnection;
  namespace: string;
  prefix: string;
  handlers: readonly Handler[];
  log: Logger;
  callbacks: CallbackPolicy;
  /**
   * Functions of executions, and what the operator says about them; default: answers no roll call.
   */
  executions?: Partial<ExecutionSettings>;
  /**
   * How partitions are spread, and this node's name and attributes; default:
   * `DEFAULT_NODE_SETTINGS`.
   */
  nodes?: Partial<NodeSettings>;
  /** Calls carry a URL under this one for what becomes of their batch (H7); none without. */
  callback?: { url: string; secret: string };
  /** Made before, or one for all workers of a test; it holds what is plugged into workflows. */
  workflowBundle?: WorkflowBundleOption;
  leaseMs?: number;
  softDeadlineMs?: number;
  /**
   * On shutdown, calls in flight may take this long; what was not started is handed back at once.
   * Default 20 s.
   */
  shutdownGraceMs?: number;
  maxCachedWorkflows?: number;
  /**
   * Leaders stay on the version they began with (DESIGN section 4); the queues of handlers are not
   * versioned. Default: no versioning.
   */
  versioning?: Versioning;
  /** Between two rounds of the sweeper; 0: this process does not sweep. Default 2 s. */
  sweepEveryMs?: number;
  /**
   * When fan-outs are given up and deleted; default: 7 days open, 30 days sealed without activity,
   * 7 days after their end.
   */
  fanouts?: ReapIntervals | undefined;
  /** When a run that does not get on is begun anew. Default: `STUCK_LIMITS`. */
  stuck?: Partial<StuckLimits> | undefined;
}

/**
 * Past its wake time a leader may be silent this long before the sweeper wakes it again: above a
 * workflow task's timeout and a lost worker's.
 */
const DEFAULT_LEASE_MS = 15_000;
/**
 * Long enough for hundreds of batches, short against a person's patience when something must move.
 */
const DEFAULT_SOFT_DEADLINE_MS = 10_000;

/**
 * One worker process (DESIGN section 5): leaders on the shared queue, the calls of each of its
 * handlers on the handler's queue.
 */
export interface Node {
  id: string;
  deps: ActivityDeps;
  /** What this process's sweeper found since its start, for `startMetrics`. */
  sweepCounts: Readonly<SweepCounts>;
  /** Throws if a worker of this process, or one of its pollers, has failed. */
  checkWorkers(): void;
  /** Runs until `shutdown`; rejects if a worker fails. */
  run(): Promise<void>;
  shutdown(): void;
}

export const createNode = async (options: NodeOptions): Promise<Node> => {
  const { pool, connection, namespace, prefix, handlers, log, leaseMs = DEFAULT_LEASE_MS } = options;
  await checkSchema(pool);
  for (const handler of handlers) await withRetries(() => registerHandler(pool, handler));
  const id = `${os.hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const thrown = new ThrownLog(log);
  const temporal = new Client({ connection, namespace, ...clientPlugs(options) });
  const draining = new AbortController();
  setMaxListeners(0, draining.signal);
  const installation = await readInstallation(pool);
  const { callback } = options;
  const nodes = { ...DEFAULT_NODE_SETTINGS, ...options.nodes };
  const balancing = new Balancing(() => deps);
  const kept = nodes.name === null ? null : { name: nodes.name, forMs: nodes.restartGraceMs };
  const deps: ActivityDeps = {
    pool,
    temporal,
    handlers: new Map(handlers.map((handler) => [handler.name, withThrownLog(handler, thrown)])),
    node: id,
    installation,
    prefix,
    leaseMs,
    softDeadlineMs: options.softDeadlineMs ?? DEFAULT_SOFT_DEADLINE_MS,
    callbacks: options.callbacks,
    executions: { ...DEFAULT_EXECUTION_SETTINGS, ...options.executions },
    ...(callback === undefined
      ? {}
      : { callbackUrl: (batchId) => callbackUrl(callback.url, { secret: callback.secret, installation }, batchId) }),
    heartbeat: new Heartbeat({ pool, log }),
    nodes,
    partitions: new Partitions({ pool, node: id, kept, onReleased: () => void balancing.tell(), log }),
    meters: new ExecutionMeters(),
    acceptTasks: createAcceptTasks({ pool, temporal, prefix, leaseMs, log }),
    draining: draining.signal,
    log,
  };
  await registerSearchAttributes(connection, namespace, log);
  const hasPartitions = handlers.some(({ affinity }) => affinity !== null);
  const workers = await createWorkers(options, id, createActivities(deps), deps.executions.serves || hasPartitions);
  const registry = await registryOf(deps, options.versioning);
  const sweeper = new Sweeper({
    ...deps,
    everyMs: options.sweepEveryMs,
    fanouts: options.fanouts,
    stuck: options.stuck,
  });
  const shutdown = (): void => {
    draining.abort();
    deps.partitions.drain();
    void registry.drain();
    void sweeper.stop();
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const start = async (): Promise<void> => {
    await registry.start();
    if (hasPartitions) balancing.start();
    if (deps.executions.serves) void wakeWaitingExecutions(deps);
    void ringServed(deps).catch((error: unknown) =>
      log.warn({ err: error }, 'lanes that waited for a node were not told; the sweeper tells them'),
    );
    if (options.sweepEveryMs !== 0) sweeper.start();
  };
  const stop = async (): Promise<void> => {
    await sweeper.stop();
    if (hasPartitions) await balancing.stop();
    await registry.stop();
  };
  const run = (): Promise<void> => runWorkers(workers, { start, stop, shutdown, draining: draining.signal });
  return { id, deps, sweepCounts: sweeper.counts, checkWorkers: () => workers.forEach(checkWorker), run, shutdown };
};

const checkWorker = (worker: Worker): void => {
  const { runState, workflowPollerState, activityPollerState } = worker.getStatus();
  if ([runState, workflowPollerState, activityPollerState].includes('FAILED'))
    throw new Error(
      `the worker of task queue ${worker.options.taskQueue} has failed: run ${runState}, polls of workflow tasks ${workflowPollerState}, of activities ${activityPollerState}`,
    );
};

/** Until all have ended; one that fails stops the others, and is told. */
const runWorkers = async (
  workers: readonly Worker[],
  {
    start,
    stop,
    shutdown,
    draining,
  }: { start: () => Promise<void>; stop: () => Promise<void>; shutdown: () => void; draining: AbortSignal },
): Promise<void> => {
  await start();
  try {
    let failure: unknown;
    const runs = workers.map((worker) =>
      worker.run().catch((error: unknown) => {
        failure ??= error;
        shutdown(); // the others drain, then it is told
      }),
    );
    if (draining.aborted) shutdown(); // it was asked to stop while it started
    await Promise.all(runs);
    if (failure !== undefined) throw failure;
  } finally {
    await stop();
  }
};

/**
 * A function may block this process for as long as an item may take, and a handler for a maximum
 * lease; then it is no node any more.
 */
const registryOf = async (deps: ActivityDeps, versioning: Versioning | undefined): Promise<Registry> => {
  const { executions, nodes } = deps;
  return new Registry({
    ...deps,
    node: await nodeRow(deps, versioning),
    silenceMs: Math.max(executions.timeoutMs + executions.leaseMs, nodes.maxLeaseMs),
  });
};

/**
 * What this process says of itself: the handlers it serves, and what it answers to roll calls (E3).
 */
const nodeRow = async (
  { node, prefix, handlers, executions, nodes }: ActivityDeps,
  versioning: Versioning | undefined,
) => ({
  id: node,
  name: nodes.name,
  taskQueue: workflowTaskQueue(prefix),
  handlers: [...handlers.keys()],
  version: versioning?.buildId ?? packageVersion(),
  batch: executions.serves,
  attributes: { ...executions.attributes, ...nodes.attributes },
  functions: await servedFunctions(executions),
});

/**
 * Workflow tasks that a process works on at once. There is one workflow thread: more of them only
 * share its time, so that on a starved machine all of them pass their timeout, where a few would
 * end in time one after another. Enough for the claims that wait for the store: a thousand turns of
 * 25 leaders take as long as with 40 at once.
 */
const WORKFLOW_TASKS_AT_ONCE = 16;
/**
 * A config may have many handlers, each with a queue of its own: one open poll each, and more only
 * while there is work.
 */
const FEW_POLLS: NonNullable<WorkerOptions['activityTaskPollerBehavior']> = {
  type: 'autoscaling',
  minimum: 1,
  initial: 1,
};

/**
 * The leaders' worker, one for the calls of each handler, and one for what is given to this very
 * process: chunks, and calls in its partitions.
 */
export const createWorkers = async (
  options: NodeOptions,
  identity: string,
  activities: object,
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
    // A dead worker's sticky queue costs this per workflow before another takes over (temporal.md
    // section 1.5; 10 s by default).
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
      // Submissions, each with many calls.
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
