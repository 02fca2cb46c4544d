import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { OutcomeMeters } from '../../activities/outcomes/meters';
import { Outcomes } from '../../activities/outcomes/outcomes';
import { OutcomeWriter } from '../../activities/outcomes/writer';
import { Client } from '../../client/client';
import { MusterError } from '../../client/errors';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import { DEFAULT_WORKFLOWS } from '../../workflows/planning/callbacks/workflows';
import { sealing } from '../config/codec';
import type { Settings } from '../config/config';
import { clientPlugs } from '../temporal/plugs';
import { packageVersion } from '../../client/version';
import { isLoopback } from '../doors/hosts';
import { isAdmitted } from './auth';
import { memoryFor } from './bodies/memory';
import { Costs } from './callers/costs';
import { FairTime } from './callers/fairTime';
import { Looks } from './callers/looks';
import { Turns, turnsOf } from './callers/turns';
import { Validity } from './callers/validity';
import { Admission } from './limits';
import { ApiMetrics } from './metrics';
import { serveDashboard } from './dashboard/serve';
import { Snapshots } from './dashboard/snapshots';
import { openApi } from './openapi';
import { servePages } from './pages';
import type { Route } from './route';
import { allRoutes } from './routes';
import type { Site } from './routes/dashboard';
import { createServer } from './server';
import { Quotas } from './tenants/quotas';
import { TokenBook } from './tokens';

export interface ApiOptions {
  log: Logger;
  /** If the port is taken, use any free one. */
  elsewhere?: boolean;
  /**
   * Database connections for effects and reads, and as many again for the transactions of
   * idempotency keys. Default: the setting, 10.
   */
  maxConnections?: number;
}

/** A running HTTP API. */
export interface RunningApi {
  url: string;
  routes: readonly Route[];
  /**
   * Accepts no new connection; requests in progress end within the grace period, streams end with
   * an event.
   */
  stop(graceMs: number): Promise<void>;
}

const CONNECTIONS = 10;
/**
 * Connections that the system keeps until the process accepts them; it caps this by
 * `net.core.somaxconn`. Beyond Node's default of 511 some of a burst were reset instead of being
 * answered with 503.
 */
const BACKLOG = 4_096;
const IDLE_MS = 50;

/** Returns the pool of effects and reads, and that of idempotency keys. */
const poolsOf = ({ databaseUrl, schema }: Settings, max: number): { pool: Pool; keyPool: Pool } => {
  const ofDatabase = { databaseUrl: databaseUrl!, schema, max };
  return {
    pool: createPool({ ...ofDatabase, applicationName: 'muster api' }),
    keyPool: createPool({ ...ofDatabase, applicationName: 'muster api keys' }),
  };
};

/** Begins to count the ends that requests record: completions, and what depends on them. */
const countingOf = ({ handlers }: Settings, pool: Pool, log: Logger): { told: Outcomes; counting: OutcomeWriter } => {
  const told = new Outcomes(new OutcomeMeters(handlers.map(({ name }) => name)), log);
  const counting = new OutcomeWriter(pool, told.minutes, log);
  counting.start();
  return { told, counting };
};

/** Returns the client by which requests are answered; it shares the API's pool. */
const clientOf = (settings: Settings, { pool, log, told }: { pool: Pool; log: Logger; told: Outcomes }): Client => {
  const { databaseUrl, schema, prefix, handlers, hooks } = settings;
  const { address, namespace, connection } = settings.temporal;
  return new Client({
    databaseUrl: databaseUrl!,
    schema,
    prefix,
    handlers,
    ...(hooks === undefined ? {} : { hooks }),
    ...sealing(settings),
    told,
    pool,
    temporal: { address, namespace, connection, ...clientPlugs(settings.temporal) },
    onRingFailure: (err) => log.warn({ err }, 'api: a ring failed; the sweeper repeats it'),
  });
};

/**
 * Starts the API; the database must have its tables (`awaitStore`). Refuses to be open for other
 * machines.
 */
export const startApi = async (
  settings: Settings,
  { log, maxConnections, elsewhere = false }: ApiOptions,
): Promise<RunningApi> => {
  const max = maxConnections ?? settings.maxConnections ?? CONNECTIONS;
  const { pool, keyPool } = poolsOf(settings, max);
  const { told, counting } = countingOf(settings, pool, log);
  const client = clientOf(settings, { pool, log, told });
  const stopping = new AbortController();
  const close = async (): Promise<void> => {
    await client.close();
    await counting.stop();
    await Promise.all([pool.end(), keyPool.end()]);
  };
  try {
    const book = new TokenBook(pool);
    const { port, host, open, limits } = settings.api;
    if (open) await refuseOpenDoor(book, host);
    const admission = new Admission(limits);
    const fair = new FairTime(limits.perCaller, admission);
    const metrics = new ApiMetrics({ main: pool, keys: keyPool }, { admission, fair, meters: told.meters }, log);
    const version = packageVersion();
    const routes: Route[] = allRoutes({
      stopping: stopping.signal,
      metrics: () => metrics,
      document: () => document,
      site: siteOf(settings, version),
    });
    const document = openApi(routes, version);
    const guard = { book, open: open && isLoopback(host) };
    const app = createServer(routes, {
      client,
      keyPool,
      log,
      maxWaitS: limits.maxWaitS,
      quotas: new Quotas(pool),
      operator: {
        workflows: settings.callbacks.workflows ?? DEFAULT_WORKFLOWS,
        executions: settings.executions,
        limits: settings.api.maxLimits,
      },
      stopping: stopping.signal,
      guard,
      limits,
      admission,
      fair,
      memory: memoryFor(limits.maxBodyBytes),
      ...sharedBy(max),
      validity: new Validity((caller) => isAdmitted(guard, caller)),
      metrics,
    });
    await servePages(app, document);
    serveDashboard(app);
    const url = await listen(app, { port: port ?? 0, host, elsewhere });
    let stopped: Promise<void> | null = null;
    const stop = async (graceMs: number): Promise<void> => {
      stopping.abort();
      const timer = setTimeout(() => app.server.closeAllConnections(), graceMs);
      // Closes connections after their current answer: they would otherwise stay open for a next
      // request that is no longer accepted.
      const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_MS);
      await app.close();
      clearTimeout(timer);
      clearInterval(idle);
      await close();
    };
    return { url, routes, stop: (graceMs) => (stopped ??= stop(graceMs)) };
  } catch (error) {
    await close();
    throw error;
  }
};

/** Returns what the dashboard says of this installation. */
const siteOf = ({ api, temporal }: Settings, version: string): Site => ({
  version,
  temporalUi: api.temporalUi,
  traceUrl: api.traceUrl,
  namespace: temporal.namespace,
});

/** Returns what the callers of this process share, or are held to. */
const sharedBy = (connections: number): { looks: Looks; costs: Costs; turns: Turns; snapshots: Snapshots } => ({
  looks: new Looks(),
  snapshots: new Snapshots(),
  costs: new Costs(),
  turns: new Turns(turnsOf(connections)),
});

/**
 * Throws unless only this machine can reach an API that is open, or a token was made: anyone who
 * reaches it may otherwise do anything.
 */
const refuseOpenDoor = async (book: TokenBook, host: string): Promise<void> => {
  if (isLoopback(host) || !(await book.isEmpty())) return;
  throw new MusterError(
    'INVALID_SETTINGS',
    '--host: expected a loopback address (127.0.0.1, ::1, localhost) with --open, got ' +
      `${host}: every client that can reach it could do anything. Leave out --open, and create a token: ` +
      'muster token create --name <who> --scope admin',
  );
};

const listen = async (
  app: FastifyInstance,
  { port, host, elsewhere }: { port: number; host: string; elsewhere: boolean },
): Promise<string> => {
  try {
    await app.listen({ port, host, backlog: BACKLOG });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (!elsewhere)
      throw new MusterError('INVALID_SETTINGS', `--port: expected a free port, got ${port}`, { cause: error });
    await app.listen({ port: 0, host, backlog: BACKLOG });
  }
  const { address, family, port: taken } = app.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
};
