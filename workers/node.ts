import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import os from 'node:os';
import { Client } from '@temporalio/client';
import { HandlerCounts } from '../workflows/temporal/handlerCounts';
import { Requests } from '../workflows/temporal/requests';
import { createActivities } from '../activities';
import type { ActivityDeps } from '../activities/deps';
import { createShared } from '../activities/createShared';
import { ExecutionMeters } from '../activities/executions/meters';
import { DEFAULT_EXECUTION_SETTINGS } from '../activities/executions/settings';
import { servedFunctions } from '../activities/executions/executors';
import { DEFAULT_NODE_SETTINGS } from '../activities/nodes/settings';
import { Partitions } from '../activities/nodes/partitions';
import { ringServed } from '../activities/nodes/served';
import { HookMeters } from '../activities/hooks/meters';
import { WorkerHooks } from '../activities/hooks/workerHooks';
import { OutcomeMeters } from '../activities/outcomes/meters';
import { OutcomeWriter } from '../activities/outcomes/writer';
import { Outcomes } from '../activities/outcomes/outcomes';
import { ThrownLog, withThrownLog } from '../activities/calls/thrownLog';
import { Heartbeat } from '../activities/nodes/heartbeat';
import { sealerOf } from '../handlers/codec/sealer';
import { withRetries } from '../postgres/errors';
import { registerHandler } from '../postgres/grouping/handler';
import { registerShare } from '../postgres/limits/shared';
import { readInstallation } from '../postgres/installation';
import { checkSchema } from '../postgres/migrating/migrate';
import { workflowTaskQueue } from '../workflows/naming';
import { createAcceptTasks } from './acceptTasks';
import { Balancing } from './sweeper/balancing';
import { callbackUrl } from './callbacks/token';
import { wakeWaitingExecutions } from './sweeper/executions';
import { Registry } from './registry';
import { registerSearchAttributes } from './temporal/searchAttributes';
import { Sweeper } from './sweeper/sweeper';
import type { SweepCounts } from './sweeper/counts';
import { Alarms } from './temporal/alarms';
import { clientPlugs } from './temporal/plugs';
import { packageVersion } from '../client/version';
import type { Versioning } from './temporal/versioning';
import type { NodeOptions } from './nodeOptions';
import { DEFAULT_LEASE_MS, DEFAULT_SOFT_DEADLINE_MS } from './nodeOptions';
import { TaskWorkers, workerMakers } from './temporal/taskWorkers';

/**
 * One worker process: leaders on the shared queue, the calls of each of its handlers on the
 * handler's queue.
 */
export interface Node {
  id: string;
  deps: ActivityDeps;
  /** What this process's sweeper has found since its start, for `startMetrics`. */
  sweepCounts: Readonly<SweepCounts>;
  /** Throws if a worker of this process, or one of its pollers, has failed. */
  checkWorkers(): void;
  /** Notes how late the Temporal server fires timers at most. */
  noteTimers(lateMs: number, isMeasured: boolean): Promise<void>;
  /** Runs until `shutdown`; rejects if a worker fails. */
  run(): Promise<void>;
  shutdown(): void;
}

const register = async (pool: NodeOptions['pool'], handler: NodeOptions['handlers'][number]): Promise<void> => {
  await withRetries(() => registerHandler(pool, handler));
  await withRetries(() => registerShare(pool, handler.name, handler.sharesLimit));
};

/** Returns the client of Temporal, and what counts how this process uses it. */
const temporalOf = ({
  connection,
  namespace,
  ...options
}: NodeOptions): Pick<ActivityDeps, 'temporal' | 'requests' | 'runs'> => {
  const temporal = new Client({ connection, namespace, ...clientPlugs(options) });
  return { temporal, requests: new Requests(temporal), runs: new HandlerCounts() };
};

export const createNode = async (options: NodeOptions): Promise<Node> => {
  const { pool, connection, namespace, prefix, handlers, log, leaseMs = DEFAULT_LEASE_MS } = options;
  await checkSchema(pool);
  for (const handler of handlers) await register(pool, handler);
  const id = `${os.hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const sealer = sealerOf(options);
  const thrown = new ThrownLog(log, undefined, sealer?.sealsTexts !== true);
  const draining = new AbortController();
  setMaxListeners(0, draining.signal);
  const installation = await readInstallation(pool);
  const nodes = { ...DEFAULT_NODE_SETTINGS, ...options.nodes };
  const balancing = new Balancing(() => deps);
  const served = new Map(handlers.map((handler) => [handler.name, withThrownLog(handler, thrown)]));
  const hooks = options.hooks === undefined ? undefined : new WorkerHooks(options.hooks, log, new HookMeters());
  const outcomes = new Outcomes(new OutcomeMeters(served.keys()), log);
  const writer = new OutcomeWriter(pool, outcomes.minutes, log);
  const base = { pool, ...temporalOf(options), handlers: served, node: id, prefix, log, sealer, hooks, outcomes };
  const deps: ActivityDeps = {
    ...base,
    ...createShared(base),
    installation,
    leaseMs,
    softDeadlineMs: options.softDeadlineMs ?? DEFAULT_SOFT_DEADLINE_MS,
    callbacks: options.callbacks,
    executions: { ...DEFAULT_EXECUTION_SETTINGS, ...options.executions },
    workflowSealer: hasCodecs(options) ? sealer : null,
    ...callbackUrls(options, installation),
    heartbeat: new Heartbeat({ pool, log, onAnswers: () => void wakeServed(deps) }),
    nodes,
    partitions: new Partitions({ pool, node: id, kept: keptOf(nodes), onReleased: () => void balancing.wake(), log }),
    meters: new ExecutionMeters(),
    acceptTasks: createAcceptTasks({ ...base, leaseMs, hooks: options.hooks }),
    draining: draining.signal,
  };
  await registerSearchAttributes(connection, namespace, log);
  const hasPartitions = handlers.some(({ affinity }) => affinity !== null);
  const alarms = new Alarms(deps.requests, log);
  const hasOwnQueue = deps.executions.serves || hasPartitions;
  const makers = await workerMakers(options, id, createActivities(deps), alarms.sinks, hasOwnQueue);
  const workers = await TaskWorkers.make(makers, log);
  const registry = await registryOf(deps, options.versioning);
  const sweeper = sweeperOf(deps, options);
  const shutdown = (): void => {
    draining.abort();
    deps.partitions.drain();
    void registry.drain();
    void sweeper.stop();
    workers.shutdown();
  };
  const start = async (): Promise<void> => {
    await registry.start();
    if (hasPartitions) balancing.start();
    void wakeServed(deps);
    ringAtStart(deps);
    if (options.sweepEveryMs !== 0) sweeper.start();
    writer.start();
  };
  const stop = async (): Promise<void> => {
    alarms.stop();
    await sweeper.stop();
    if (hasPartitions) await balancing.stop();
    await registry.stop();
    await hooks?.idle();
    await writer.stop();
    await deps.modules.close();
  };
  const run = (): Promise<void> => between(start, () => workers.run(shutdown, { connection, namespace }), stop);
  const noteTimers: Node['noteTimers'] = (lateMs, isMeasured) => noteTimersIn(alarms, registry, { lateMs, isMeasured });
  return { id, deps, sweepCounts: sweeper.counts, checkWorkers: () => workers.check(), noteTimers, run, shutdown };
};

const between = async (
  start: () => Promise<void>,
  work: () => Promise<void>,
  stop: () => Promise<void>,
): Promise<void> => {
  await start();
  try {
    await work();
  } finally {
    await stop();
  }
};

/** Returns the name under which a node keeps its partitions over a restart, and for how long. */
const keptOf = ({ name, restartGraceMs }: ActivityDeps['nodes']) =>
  name === null ? null : { name, forMs: restartGraceMs };

const noteTimersIn = async (
  alarms: Alarms,
  registry: Registry,
  { lateMs, isMeasured }: { lateMs: number; isMeasured: boolean },
): Promise<void> => {
  alarms.noteTimers(lateMs);
  if (isMeasured) await registry.noteTimers(lateMs);
};

/** Wakes the executions that wait for a node, if this one serves any. */
const wakeServed = async (deps: ActivityDeps): Promise<void> => {
  if (deps.executions.serves) await wakeWaitingExecutions(deps);
};

const sweeperOf = (deps: ActivityDeps, options: NodeOptions): Sweeper => {
  const { sweepEveryMs: everyMs, fanouts, stuck, keepOutcomesMs } = options;
  return new Sweeper({ ...deps, everyMs, fanouts, stuck, keepOutcomesMs });
};

const ringAtStart = (deps: ActivityDeps): void =>
  void ringServed(deps).catch((error: unknown) =>
    deps.log.warn({ err: error }, 'lanes that waited for a node were not woken; the sweeper wakes them'),
  );

/** Says whether what goes to Temporal is encoded. */
const hasCodecs = ({ dataConverter }: NodeOptions): boolean => (dataConverter?.payloadCodecs?.length ?? 0) > 0;

/** Returns what makes URLs for completions, if this worker takes them. */
const callbackUrls = ({ callback }: NodeOptions, installation: string): Pick<ActivityDeps, 'callbackUrl'> => {
  if (callback === undefined) return {};
  return {
    callbackUrl: (batch, openMs) =>
      callbackUrl(callback.url, { ...callback, installation }, batch, Math.max(callback.urlMs, openMs)),
  };
};

/**
 * A function may block this process for as long as an item may take, and a handler for a maximum
 * lease; after that it does not count as a node any more.
 */
const registryOf = async (deps: ActivityDeps, versioning: Versioning | undefined): Promise<Registry> => {
  const { executions, nodes } = deps;
  return new Registry({
    ...deps,
    node: await nodeRow(deps, versioning),
    silenceMs: Math.max(executions.timeoutMs + executions.leaseMs, nodes.maxLeaseMs),
  });
};

/** Returns this process's row: the handlers that it serves, and what it answers to roll calls. */
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
  topics: executions.topics,
});
