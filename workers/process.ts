import type { NativeConnection, WorkflowBundleOption } from '@temporalio/worker';
import type { Logger } from 'pino';
import { MusterError } from '../client/errors';
import { NODE_LIVE_MS, readTimersLate } from '../postgres/nodes/node';
import type { Pool } from '../postgres/pool';
import type { CallbackServer } from './callbacks/server';
import { listenForCallbacks } from './callbacks/server';
import { sealing } from './config/codec';
import type { Settings } from './config/config';
import { handOverLeaders } from './temporal/handOver';
import { PoisonedWorkerError } from './temporal/isolate';
import { Health } from './metrics/health';
import type { HealthReport } from './metrics/health';
import { startMetrics } from './metrics/server';
import type { MetricsOptions, MetricsServer } from './metrics/server';
import { createNode } from './node';
import type { Node } from './node';
import type { NodeOptions } from './nodeOptions';
import { openServers } from './servers';
import type { GivenServers, Servers } from './servers';
import { warnOfCoarseTimers } from './temporal/timerProbe';
import type { Versioning } from './temporal/versioning';
import { defaultBuildId, setCurrentVersion } from './temporal/versioning';
import { installWatchedRuntime } from './temporal/watchedRuntime';
import { workflowBundle } from './temporal/workflowBundle';

export interface WorkerOptions {
  log: Logger;
  /**
   * How long running calls may take on a stop; batches not started are handed back. Default 20 s.
   */
  shutdownGraceMs?: number;
  /** How long to wait for Postgres and Temporal at the start. Default 60 s. */
  startTimeoutMs?: number;
  /**
   * Most database connections of this process, beside one of its heartbeat thread and, while it
   * sweeps, one that hears of submits by SQL. Default: the setting, 20.
   */
  maxConnections?: number;
  /** `buildId` null: named by the workflows' code. */
  versioning?: { deploymentName: string; buildId: string | null };
  /** With versioning: new runs go to this version once it polls. */
  setCurrent?: boolean;
  /** Serves `/metrics` and `/healthz` there; none without. Default host 127.0.0.1. */
  metrics?: { port: number; host?: string };
  /** host:port of the SDK's own Prometheus endpoint. */
  sdkMetricsAddress?: string;
  /**
   * The process may already have the SDK's runtime: then that is used. Default: it is installed
   * here.
   */
  sharesRuntime?: boolean;
  /** It is installed: by a worker of this process that has ended. Default false. */
  hasRuntime?: boolean;
  /** Connections of the program, in place of those that are opened here. */
  servers?: GivenServers;
  /** Aborted: the start is given up. */
  signal: AbortSignal;
}

export const DEFAULT_SHUTDOWN_GRACE_MS = 20_000;
const DEFAULT_START_TIMEOUT_MS = 60_000;
const DEFAULT_CONNECTIONS = 20;
/** Longest wait for Temporal's answer whether it is reachable. */
const ASK_MS = 5_000;

/** A running worker process. */
export interface RunningWorker {
  node: Node;
  pool: Pool;
  /** Where it listens for callbacks; null: it does not. */
  callbackAddress: string | null;
  /** Returns what `/healthz` says. */
  health(): Promise<HealthReport>;
  /** Resolves when it has ended after `stop`, everything closed; rejects if a worker failed. */
  ended: Promise<void>;
  /**
   * With `setCurrent`: resolves when new runs go to this version, or when that failed and was
   * logged. Otherwise at once.
   */
  current: Promise<void>;
  /** Drains: no new work, running calls end within the grace. Returns at once; see `ended`. */
  stop(): void;
}

/**
 * Starts the worker of this process: waits for the servers, then polls. The SDK's runtime is
 * installed here, so once per process.
 */
export const startWorker = async (settings: Settings, options: WorkerOptions): Promise<RunningWorker> => {
  const { log, startTimeoutMs = DEFAULT_START_TIMEOUT_MS, signal } = options;
  const poisoned = new AbortController();
  const onPoisoned = (): void => poisoned.abort(new PoisonedWorkerError());
  const servesHealth = options.metrics !== undefined;
  const polls =
    options.hasRuntime === true ? undefined : await installWatchedRuntime({ ...options, servesHealth, onPoisoned });
  const max = options.maxConnections ?? settings.maxConnections ?? DEFAULT_CONNECTIONS;
  const servers = await openServers(settings, options.servers ?? {}, max, { log, startTimeoutMs, signal });
  const { pool, connection } = servers;
  let metrics: MetricsServer | null = null;
  let callbacks: CallbackServer | null = null;
  try {
    callbacks = await listen(settings, log);
    const callback = callbackOf(settings, callbacks);
    const workflows = await workflowsOf(settings, options);
    const ofNode = { ...nodeOptions(settings, options), ...workflows, ...callback };
    const node = await createNode({ ...ofNode, pool, connection });
    const health = { askTemporal: () => askTemporal(connection), checkWorkers: node.checkWorkers, polls };
    metrics = await serveMetrics(node, pool, health, options);
    callbacks?.serve(node.deps);
    const { requests, draining } = node.deps;
    const known = (): Promise<number | null> => readTimersLate(pool, NODE_LIVE_MS);
    void warnOfCoarseTimers({ requests, prefix: settings.prefix, log, known, note: node.noteTimers, signal: draining });
    const parts = { node, servers, health, metrics, callbacks, poisoned: poisoned.signal };
    return running(parts, settings, { ...options, ...workflows });
  } catch (error) {
    await callbacks?.stop(0);
    await metrics?.stop();
    await servers.close();
    throw error;
  }
};

/** Returns the workflows, and their version. */
const workflowsOf = async (
  { temporal }: Settings,
  { versioning: given, log }: WorkerOptions,
): Promise<{ workflowBundle: WorkflowBundleOption; versioning: Versioning | undefined }> => {
  const bundle = await workflowBundle(temporal, log);
  if (given === undefined) return { workflowBundle: bundle, versioning: undefined };
  const { deploymentName, buildId } = given;
  return { workflowBundle: bundle, versioning: { deploymentName, buildId: buildId ?? defaultBuildId(bundle) } };
};

/** What the settings say of the node; the rest is made at the start. */
export const nodeOptions = (settings: Settings, options: WorkerOptions) => ({
  ...sealing(settings),
  dataConverter: settings.temporal.dataConverter,
  interceptors: settings.temporal.interceptors,
  dashboardUrl: settings.temporal.dashboardUrl,
  namespace: settings.temporal.namespace,
  prefix: settings.prefix,
  handlers: settings.handlers,
  hooks: settings.hooks,
  log: options.log,
  callbacks: settings.callbacks,
  executions: settings.executions,
  nodes: settings.nodes,
  fanouts: settings.fanouts,
  keepOutcomesMs: settings.keepOutcomesMs,
  maxCachedWorkflows: settings.maxCachedWorkflows ?? undefined,
  shutdownGraceMs: options.shutdownGraceMs ?? DEFAULT_SHUTDOWN_GRACE_MS,
});

/** Before any call is made: the URLs that calls carry name the port. */
const listen = async ({ callback }: Settings, log: Logger): Promise<CallbackServer | null> => {
  const { port, elsewhere = false, host, secrets, maxBytes } = callback;
  if (port === null || secrets.length === 0) return null;
  try {
    const server = await listenForCallbacks({ port, elsewhere, host, secrets, maxBytes, log });
    log.info({ url: server.url, under: callback.url ?? server.url }, 'listening for callbacks');
    return server;
  } catch (error) {
    throw new MusterError(
      'INVALID_ARGUMENT',
      `--callback-port: expected a free port, got ${port}: ${(error as Error).message}`,
      { cause: error },
    );
  }
};

/** Every worker that knows the address and the secret hands out URLs, whether it listens or not. */
const callbackOf = (
  { callback: { url, secrets, urlMs } }: Settings,
  server: CallbackServer | null,
): Pick<NodeOptions, 'callback'> => {
  const base = url ?? server?.url ?? null;
  return base === null || secrets.length === 0 ? {} : { callback: { url: base, secrets, urlMs } };
};

/** Before any work is taken: a port that is taken ends the start. */
const serveMetrics = async (
  node: Node,
  pool: Pool,
  health: NonNullable<MetricsOptions['health']>,
  { metrics, log }: WorkerOptions,
): Promise<MetricsServer | null> => {
  if (metrics === undefined) return null;
  try {
    const server = await startMetrics({
      ...metrics,
      pool,
      log,
      sweepCounts: node.sweepCounts,
      meters: node.deps.meters,
      outcomeMeters: node.deps.outcomes?.meters,
      hookMeters: node.deps.hooks?.meters,
      partitions: node.deps.partitions,
      temporal: { requests: () => node.deps.requests.counts(), runs: () => node.deps.runs.all() },
      health,
    });
    log.info({ url: `${server.url}/metrics` }, 'serving metrics');
    return server;
  } catch (error) {
    throw new MusterError(
      'INVALID_ARGUMENT',
      `--metrics-port: expected a free port, got ${metrics.port}: ${(error as Error).message}`,
      { cause: error },
    );
  }
};

/** Asks over the connection of the workers: if it fails, they cannot poll either. */
export const askTemporal = (connection: NativeConnection): Promise<unknown> =>
  connection.withDeadline(Date.now() + ASK_MS, () => connection.workflowService.getSystemInfo({}));

interface StartedOptions extends Omit<WorkerOptions, 'versioning'> {
  versioning?: Versioning | undefined;
}

interface Parts {
  node: Node;
  servers: Servers;
  health: NonNullable<MetricsOptions['health']>;
  metrics: MetricsServer | null;
  callbacks: CallbackServer | null;
  /** Aborted, with the error: its workflow thread is unusable. */
  poisoned: AbortSignal;
}

const running = (
  { node, servers, health, metrics, callbacks, poisoned }: Parts,
  settings: Settings,
  options: StartedOptions,
): RunningWorker => {
  const graceMs = options.shutdownGraceMs ?? DEFAULT_SHUTDOWN_GRACE_MS;
  const { pool, connection } = servers;
  let own: Health | null = null;
  const reporter = (): Health => metrics?.health ?? (own ??= new Health({ ...health, pool }));
  const ended = node
    .run()
    .then(() => poisoned.throwIfAborted())
    .finally(async () => {
      await callbacks?.stop(graceMs);
      await metrics?.stop();
      own?.stop();
      await servers.close();
    });
  ended.catch(() => undefined); // reported where it is awaited
  const stopped = new AbortController();
  const current = becomeCurrent({ node, connection }, settings, options, stopped.signal);
  const stop = (): void => {
    stopped.abort();
    void callbacks?.stop(graceMs); // first: a refused sender finds another worker
    node.shutdown();
  };
  onAbort(poisoned, () => {
    options.log.fatal(
      { node: node.id, graceMs },
      `${(poisoned.reason as Error).message} The worker drains, and exits with code 1.`,
    );
    stop();
  });
  const report = (): Promise<HealthReport> => reporter().report();
  return { node, pool, callbackAddress: callbacks?.url ?? null, health: report, ended, current, stop };
};

const onAbort = (signal: AbortSignal, then: () => void): void => {
  if (signal.aborted) then();
  else signal.addEventListener('abort', then, { once: true });
};

/**
 * Makes this version current, then wakes the leaders that wait, so that they go on with it; those
 * that cannot hear it, having no worker any more, are begun anew.
 */
const becomeCurrent = async (
  { node, connection }: Pick<Parts, 'node'> & Pick<Servers, 'connection'>,
  settings: Settings,
  { versioning, setCurrent, log }: StartedOptions,
  stopped: AbortSignal,
): Promise<void> => {
  if (versioning === undefined || setCurrent !== true) return;
  try {
    await setCurrentVersion(connection, settings.temporal.namespace, versioning, node.id);
    log.info({ ...versioning }, 'this version is now the current one');
  } catch (error) {
    log.error({ err: error }, 'this version could not be made the current one');
    return;
  }
  handOverLeaders(node.deps, stopped).catch((error: unknown) =>
    log.warn(
      { err: error },
      'not all leaders of other versions could be notified; the sweeper will wake those that are due',
    ),
  );
};
