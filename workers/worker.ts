import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { USUAL_ADDRESS } from '../client/usualAddress';
import { checkFunctions } from '../handlers/functions';
import type { RegisteredFunction } from '../handlers/functions';
import type { Handler, Problem } from '../handlers';
import { checkHandlers } from '../handlers';
import { DEFAULT_PREFIX } from '../workflows/naming';
import { DEFAULT_API } from './api/settings';
import { callbackPolicy, callbackProblems, callbackSettings } from './config/callbacks';
import { sealing } from './config/codec';
import type { Settings } from './config/config';
import { executionSettings } from './config/executions';
import { DEFAULT_REAP } from './sweeper/fanoutReaper';
import { createLogger } from './logging';
import { nodeProblems, nodeSettings } from './config/nodes';
import { startWorker as startProcess } from './process';
import type { WorkerOptions as ProcessOptions } from './process';
import type { Pool } from '../postgres/pool';
import type { HealthReport } from './metrics/health';
import { SettingsError } from './config/settingsError';
import { fileSchema, problemsOf, SETTING_NAMES } from './config/settingsSchema';
import type { FileSettings, LogLevel } from './config/settingsSchema';

/**
 * `temporal-muster/worker`: a worker within a user's own program, instead of the process that
 * `muster worker` is.
 */

export type { PluggedDataConverter, TemporalInterceptors } from './temporal/plugs';
export type { HealthReport, PartHealth } from './metrics/health';
export { SettingsError } from './config/settingsError';

/**
 * The settings of the config file, by the same names; relative paths are from the working
 * directory. The environment is not read.
 */
export interface StartOptions extends Omit<FileSettings, 'api'> {
  databaseUrl: string;
  /**
   * Your own pool of `pg`, in place of `maxConnections` connections of the worker's; it is not
   * closed. It needs some 10 connections. The worker's sign of life, in a thread, and what hears of
   * submits by SQL have one connection each besides, by `databaseUrl`.
   */
  pool?: Pool;
  /**
   * Your own connection to Temporal, in place of one by `temporal`, of whose settings the
   * namespace and what is plugged in still count; it is not closed.
   */
  connection?: NativeConnection;
  /**
   * What is served. Neither: a worker of fan-outs, callbacks and other workers' leaders.
   */
  handlers?: readonly Handler[];
  functions?: readonly RegisteredFunction[];
  /** A pino logger, or the level of one that writes JSON lines to stderr. Default `info`. */
  log?: Logger | LogLevel;
  /**
   * How long running calls may take on a stop (ms); batches not started are handed back at once.
   * Default 20,000.
   */
  shutdownGraceMs?: number;
  /** How long to wait for Postgres and Temporal at the start (ms). Default 60,000. */
  startTimeoutMs?: number;
  /**
   * Worker Deployment Versioning: leaders stay on the version that they began with. `buildId` null:
   * named by the workflows' code. Default: none.
   */
  versioning?: { deploymentName: string; buildId: string | null };
  /** With `versioning`: new runs go to this version once it polls. Default false. */
  setCurrent?: boolean;
  /** Serves `/metrics` and `/healthz` there; host default 127.0.0.1. Default: not served. */
  metrics?: { port: number; host?: string };
  /** Aborted: a start that still waits is given up (it rejects), a worker that runs is stopped. */
  signal?: AbortSignal;
}

/** A worker that polls. */
export interface StartedWorker {
  /** Id of this node, as `muster nodes` shows it. */
  readonly node: string;
  /** Where it listens for callbacks of downstreams; null: it does not. */
  readonly callbackAddress: string | null;
  /**
   * Returns what `/healthz` says, for a route of your own server: `healthy`, and each part. The
   * polls are part of it with `metrics` only, where the worker has installed the SDK's runtime.
   */
  health(): Promise<HealthReport>;
  /**
   * Resolves when it has ended after a stop, all its connections closed; rejects with the reason of
   * a failure.
   */
  readonly ended: Promise<void>;
  /**
   * Drains: takes no new work, lets running calls end within the grace, hands the rest back.
   * Resolves and rejects as `ended`.
   */
  stop(): Promise<void>;
}

/**
 * Starts a worker in this process: waits until Postgres, its tables and Temporal are there, then
 * polls. It listens to no signal of the operating system: call `stop` on SIGTERM, and wait for it.
 *
 * The Temporal SDK has one runtime in a process. If the program has not installed one, this does,
 * with its log going to `log`; otherwise the program's is used.
 *
 * Rejects with a `SettingsError` that names every wrong field; with an error that has a `code`
 * where a server is not there in time or refuses (`DATABASE_UNAVAILABLE`, `SCHEMA_MISSING`,
 * `TEMPORAL_UNAVAILABLE`, `TEMPORAL_REFUSED`), a port is taken (`INVALID_ARGUMENT`), or the
 * workflows cannot be bundled with what is plugged into them (`INVALID_SETTINGS`).
 */
export const startWorker = async (options: StartOptions): Promise<StartedWorker> => {
  const settings = settingsOf(options);
  const { log = 'info', signal = new AbortController().signal, versioning, metrics } = options;
  const given: ProcessOptions = {
    log: typeof log === 'string' ? createLogger(log) : log,
    shutdownGraceMs: options.shutdownGraceMs,
    startTimeoutMs: options.startTimeoutMs,
    setCurrent: options.setCurrent ?? false,
    ...(versioning === undefined ? {} : { versioning }),
    ...(metrics === undefined ? {} : { metrics }),
    sharesRuntime: true,
    servers: {
      ...(options.pool === undefined ? {} : { pool: options.pool }),
      ...(options.connection === undefined ? {} : { connection: options.connection }),
    },
    signal,
  };
  const worker = await startProcess(settings, given);
  const stop = (): Promise<void> => {
    signal.removeEventListener('abort', worker.stop);
    worker.stop();
    return worker.ended;
  };
  if (signal.aborted) worker.stop();
  else signal.addEventListener('abort', worker.stop, { once: true });
  const { node, callbackAddress, health, ended } = worker;
  return { node: node.id, callbackAddress, health, ended, stop };
};

/** Options of `StartOptions` that are not settings of the config file. */
const OTHERS = [
  ...['handlers', 'functions', 'log', 'shutdownGraceMs', 'startTimeoutMs', 'versioning', 'setCurrent', 'metrics'],
  ...['signal', 'pool', 'connection'],
];
const OF_API = 'api'; // another process

const settingsOf = (options: StartOptions): Settings => {
  const problems: Problem[] = [];
  const schema = fileSchema({ json: false, env: {}, folder: process.cwd() });
  const isGiven = ([name, value]: [string, unknown]): boolean => !OTHERS.includes(name) && value !== undefined;
  const given = Object.fromEntries(Object.entries(options).filter(isGiven));
  problems.push(...problemsOf(schema, given));
  if (given['databaseUrl'] === undefined)
    problems.push({ path: 'databaseUrl', message: 'expected a Postgres URL, got nothing' });
  if (given[OF_API] !== undefined)
    problems.push({ path: OF_API, message: `unknown setting; known here: ${knownNames()}` });
  const file = problems.length === 0 ? schema.parse(given) : {};
  const { temporal = {}, callbacks } = file;
  const handlers = checkedBy(
    () => (options.handlers === undefined ? [] : checkHandlers([...options.handlers], { env: {} })),
    'handlers',
    problems,
  );
  const functions = checkedBy(
    () => (options.functions === undefined ? [] : checkFunctions([...options.functions])),
    'functions',
    problems,
  );
  const callback = callbackSettings(() => undefined, file.callback);
  const nodes = nodeSettings(file.nodes ?? {}, undefined);
  problems.push(...callbackProblems(callback), ...nodeProblems(nodes));
  if (problems.length > 0) throw new SettingsError(problems);
  const { address = USUAL_ADDRESS, namespace = 'default', apiKey, tls } = temporal;
  const { dataConverter, interceptors, dashboardUrl } = temporal;
  return {
    databaseUrl: file.databaseUrl!,
    schema: file.schema ?? 'muster',
    maxConnections: file.maxConnections ?? null,
    maxCachedWorkflows: file.maxCachedWorkflows ?? null,
    prefix: file.prefix ?? DEFAULT_PREFIX,
    temporal: {
      address,
      namespace,
      connection: { apiKey, tls: tls ?? (apiKey === undefined ? undefined : true) },
      dataConverter,
      interceptors,
      dashboardUrl,
    },
    ...sealing(file),
    handlers: handlers ?? [],
    hooks: file.hooks,
    callbacks: callbackPolicy(callbacks),
    executions: executionSettings(file.executions ?? {}, functions ?? [], process.cwd()),
    nodes,
    fanouts: { ...DEFAULT_REAP, ...file.fanouts },
    keepOutcomesMs: file.outcomes?.keepMs,
    callback,
    api: DEFAULT_API,
    logLevel: 'info',
    config: null,
    configNamed: false,
    ownServers: true,
    dev: null,
  };
};

const knownNames = (): string => [...SETTING_NAMES.filter((name) => name !== OF_API), ...OTHERS].join(', ');

/** By name: the error may be of another copy of the package. */
const checkedBy = <T>(check: () => T, field: string, problems: Problem[]): T | null => {
  try {
    return check();
  } catch (error) {
    const { name, problems: found } = error as Error & { problems?: readonly Problem[] };
    if (name !== 'ConfigError' || found === undefined) throw error;
    problems.push(
      ...found.map(({ path: at, message }) => ({
        path: [field, at].filter((part) => part !== '').join(', '),
        message,
      })),
    );
    return null;
  }
};
