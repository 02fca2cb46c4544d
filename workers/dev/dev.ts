import { createServer } from 'node:net';
import path from 'node:path';
import { MusterError } from '../../client/errors';
import { USUAL_PORT } from '../../client/usualAddress';
import { migrate } from '../../postgres/migrating/migrate';
import type { Settings } from '../config/config';
import { devCallback } from './callback';
import { openDevLog } from './log';
import { Reload } from './reload';
import { makeDevDirectory, readDevFile, removeDevFile, writeDevFile } from './file';
import type { DevServers } from './file';
import type { RunningApi } from '../api/api';
import { startApi } from '../api/api';
import { USUAL_API_PORT } from '../config/defaults';
import { startPostgres, startTemporalDev } from '../embedded';
import type { EmbeddedPostgres, TemporalDev } from '../embedded';
import { choosePorts } from '../embedded/ports';
import { DEFAULT_SHUTDOWN_GRACE_MS, startWorker } from '../process';
import type { RunningWorker } from '../process';
import { stopOnSignals } from '../signals';

export interface DevOptions {
  cwd: string;
  /** Where the data of both servers and the log stay. */
  dataDir: string;
  /** Left out: the usual port, or a free one if that is taken. */
  temporalPort?: number | undefined;
  uiPort?: number | undefined;
  databasePort?: number | undefined;
  shutdownGraceMs?: number | undefined;
  /** Reads the settings anew, at each save of the user's code. Left out: nothing is reloaded. */
  load?: (() => Promise<Settings>) | undefined;
  /** Unix milliseconds before the settings that it starts with were read. */
  readSince: number;
  /** Shows progress to the user. */
  say: (line: string) => void;
  /** Called when all is up. */
  onReady: (servers: DevServers, logFile: string, callbacks: string) => void;
}

/** Where other tools look first. */
const USUAL = { temporalPort: USUAL_PORT, uiPort: 8233, databasePort: 5433 };

/**
 * Runs everything on this machine: Postgres, Temporal with its Web UI, the tables, and a worker
 * with the config's handlers. Runs until Ctrl-C or SIGTERM, then drains and stops all; the data
 * stays for the next start. Rejects if something cannot start or ends by itself.
 */
export const runDev = async (settings: Settings, options: DevOptions): Promise<void> => {
  const { cwd, dataDir, say } = options;
  await refuseSecond(cwd);
  makeDevDirectory(dataDir);
  const stop = stopOnSignals((signal) =>
    say(`${signal}: draining, then everything stops. Press again to exit immediately.`),
  );
  const log = openDevLog(path.join(dataDir, 'dev.log'), settings.logLevel, say);
  const running: Running = {};
  const start = (wanted: Settings, isFirst: boolean): Promise<DevServers> =>
    startWork(running, wanted, options, { log: log.logger, signal: stop.signal, isFirst });
  const replace = async (wanted: Settings): Promise<void> => {
    await stopWork(running, options);
    await start(wanted, false);
  };
  try {
    const { load, readSince } = options;
    // It watches from here on: what is saved while all starts is reloaded afterwards.
    if (load !== undefined)
      running.reload = new Reload(
        { cwd, load, replace, failed: (error) => running.failed?.(error), say },
        settings,
        readSince,
      );
    await startServers(running, options, log.logger);
    if (stop.signal.aborted) return;
    const up = await start(settings, true);
    options.onReady(up, log.file, running.worker!.callbackAddress!);
    running.reload?.begin();
    await untilOver(running, stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    await running.reload?.stop();
    await stopAll(running, options);
    stop.release();
    log.close();
  }
};

/** Starts what the settings say: worker and API; the servers run. */
const startWork = async (
  running: Running,
  settings: Settings,
  { cwd, dataDir, say, shutdownGraceMs }: DevOptions,
  { log, signal, isFirst }: { log: Logger; signal: AbortSignal; isFirst: boolean },
): Promise<DevServers> => {
  const servers = serversOf(running, settings);
  const port = await apiPort(settings);
  const wanted = withServers(settings, servers, port);
  await migrate(servers.databaseUrl, servers.schema);
  const callback = devCallback(dataDir, settings.callback);
  running.worker = await startWorker(
    { ...wanted, callback },
    {
      log,
      shutdownGraceMs,
      signal,
      // After an upgrade of Muster, leaders that still wait in the kept data begin anew with
      // today's code.
      versioning: { deploymentName: servers.prefix, buildId: null },
      setCurrent: true,
      hasRuntime: !isFirst,
    },
  );
  watchWorker(running);
  await running.worker.current;
  running.api = await startDevApi(wanted, port, servers.temporal.uiUrl, { log, say });
  const up = { ...servers, api: running.api.url };
  writeDevFile(cwd, up);
  running.written = true;
  return up;
};

/** Stops worker and API: requests and calls that run end within the grace. */
const stopWork = async (
  running: Running,
  { shutdownGraceMs: graceMs = DEFAULT_SHUTDOWN_GRACE_MS, say }: DevOptions,
) => {
  const { worker, api } = running;
  delete running.worker;
  delete running.api;
  await api?.stop(graceMs);
  worker?.stop();
  await worker?.ended.catch((error: Error) =>
    say(`The worker did not drain within ${graceMs / 1_000} s: ${error.message}`),
  );
};

/** Reports a worker that ends without being replaced or stopped. */
const watchWorker = (running: Running): void => {
  const { worker } = running;
  const ended = (error: Error): void => {
    if (running.worker === worker) running.failed?.(error);
  };
  worker!.ended.then(() => ended(new MusterError('DEV_SERVER', 'The worker exited unexpectedly; see the log.')), ended);
};

interface Running {
  reload?: Reload;
  /** Ends all, because something that must run does not. */
  failed?: (error: Error) => void;
  postgres?: EmbeddedPostgres;
  temporal?: TemporalDev;
  worker?: RunningWorker;
  api?: RunningApi;
  written?: boolean;
}
type Logger = ReturnType<typeof openDevLog>['logger'];

const refuseSecond = async (cwd: string): Promise<void> => {
  const other = readDevFile(cwd);
  if (other === null) return;
  const port = Number(other.temporal.address.split(':').at(-1));
  // The process id may be another process's by now; the holder of the port is certain.
  if (await isFree(port)) return removeDevFile(cwd);
  throw new MusterError(
    'DEV_SERVER',
    `A "muster dev" (process ${other.pid}) is already running in ${cwd}. Stop it first, or use another folder.`,
  );
};

const startServers = async (running: Running, options: DevOptions, log: Logger): Promise<void> => {
  const { dataDir, say, temporalPort, uiPort, databasePort } = options;
  const output = (server: string) => (line: string) => log.debug({ server }, line);
  const started = await Promise.allSettled([
    startPostgres({
      dataDir: path.join(dataDir, 'postgres'),
      port: databasePort,
      usualPort: USUAL.databasePort,
      log: output('postgres'),
    }).then((postgres) => (running.postgres = postgres), named({ port: '--database-port' })),
    startTemporalDev({
      dbFilename: path.join(dataDir, 'temporal.db'),
      ui: true,
      port: temporalPort,
      uiPort,
      usualPorts: { port: USUAL.temporalPort, uiPort: USUAL.uiPort },
      log: output('temporal'),
      binary: { log: say },
    }).then((temporal) => (running.temporal = temporal), named({ port: '--temporal-port', uiPort: '--ui-port' })),
  ]);
  // Both are waited for, so that the one that started is not left behind.
  for (const one of started) if (one.status === 'rejected') throw one.reason;
  const { postgres, temporal } = running;
  sayIfOther(say, 'Temporal', options.temporalPort ?? USUAL.temporalPort, temporal!.address);
  sayIfOther(say, 'the Web UI', options.uiPort ?? USUAL.uiPort, temporal!.uiUrl!);
  sayIfOther(say, 'Postgres', options.databasePort ?? USUAL.databasePort, `127.0.0.1:${postgres!.port}`);
};

/** Turns a requested port that is taken into an error with the flag's name. */
const named =
  (flags: Readonly<Record<string, string>>) =>
  (error: Error): never => {
    const message = error.message.replace(/^(\w+)(?=: )/, (field) => flags[field] ?? field);
    throw new MusterError('DEV_SERVER', message, { cause: error });
  };

const sayIfOther = (say: DevOptions['say'], what: string, port: number, address: string): void => {
  if (!address.endsWith(`:${port}`)) say(`Port ${port} is taken: ${what} is at ${address}.`);
};

const serversOf = ({ postgres, temporal }: Running, settings: Settings): DevServers => ({
  pid: process.pid,
  databaseUrl: postgres!.url,
  schema: settings.schema,
  prefix: settings.prefix,
  temporal: { address: temporal!.address, namespace: temporal!.namespace, uiUrl: temporal!.uiUrl ?? null },
  config: settings.configNamed ? settings.config : null,
});

/**
 * Never the servers that the config file or the environment names: what is tried out here must not
 * reach them.
 */
const withServers = (settings: Settings, servers: DevServers, port: number): Settings => ({
  ...settings,
  databaseUrl: servers.databaseUrl,
  temporal: {
    ...settings.temporal, // with what is plugged in
    address: servers.temporal.address,
    namespace: servers.temporal.namespace,
    connection: {},
    dashboardUrl: settings.temporal.dashboardUrl ?? `http://127.0.0.1:${port}`,
  },
});

/** Chooses the API's port before it listens there: workflows that start meanwhile link to it. */
const apiPort = async ({ api: { port } }: Settings): Promise<number> => {
  if (port !== null && port !== 0) return port;
  return (await choosePorts({ api: port === 0 ? {} : { usual: USUAL_API_PORT } })).api;
};

/** Starts the API for this machine only, and open: without a token until one was made. */
const startDevApi = async (
  settings: Settings,
  port: number,
  temporalUi: string | null,
  { log, say }: { log: Logger; say: DevOptions['say'] },
): Promise<RunningApi> => {
  const api = await startApi(
    { ...settings, api: { ...settings.api, port, host: '127.0.0.1', open: true, temporalUi } },
    { log, elsewhere: settings.api.port === null, maxConnections: 5 },
  );
  sayIfOther(say, 'the HTTP API', settings.api.port === 0 ? port : (settings.api.port ?? USUAL_API_PORT), api.url);
  return api;
};

/** Resolves when it is stopped; rejects when a part ends by itself. */
const untilOver = (running: Running, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const gone = (what: string) => (): void =>
      reject(new MusterError('DEV_SERVER', `${what} exited unexpectedly; see the log.`));
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
    const { postgres, temporal } = running;
    running.failed = reject;
    void postgres!.exited.then(gone('Postgres'));
    void temporal!.exited.then(gone('Temporal'));
  });

const stopAll = async (running: Running, options: DevOptions): Promise<void> => {
  const { temporal, postgres } = running;
  if (running.written === true) removeDevFile(options.cwd);
  await stopWork(running, options);
  await Promise.all([temporal?.stop(), postgres?.stop()]);
};

const isFree = (port: number): Promise<boolean> =>
  new Promise((answer) => {
    const server = createServer();
    server.once('error', () => answer(false));
    server.listen(port, '127.0.0.1', () => server.close(() => answer(true)));
  });
