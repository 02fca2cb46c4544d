import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Gauge, Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { ExecutionMeters } from '../../activities/executions/meters';
import type { HookMeters } from '../../activities/hooks/meters';
import type { OutcomeMeters } from '../../activities/outcomes/meters';
import type { Pool } from '../../postgres/pool';
import { addConnectionGauges } from './connectionGauges';
import type { HealthOptions } from './health';
import { Health } from './health';
import type { PollWatch } from './pollWatch';
import { StoreMetrics } from './storeMetrics';
import type { TemporalCounts } from './temporalCounts';
import { addTemporalCounts } from './temporalCounts';
import type { SweepCounts } from '../sweeper/counts';
import { isLoopback, refusalOfHost } from '../doors/hosts';
import { createDoor, MOST_CONNECTIONS } from '../doors/sockets';

export interface MetricsOptions {
  pool: Pool;
  /** 0: any free one, see `url`. */
  port: number;
  /**
   * Default 127.0.0.1: a business's numbers are not public; requests for another Host are refused
   * there. `0.0.0.0` in a container.
   */
  host?: string;
  /** `node.sweepCounts`, where a worker runs in this process. */
  sweepCounts?: Readonly<SweepCounts>;
  /** `node.deps.meters`, where a worker runs in this process. */
  meters?: ExecutionMeters;
  /** `node.deps.outcomes.meters`, where a worker runs in this process. */
  outcomeMeters?: OutcomeMeters | undefined;
  /** `node.deps.hooks.meters`, where a worker with hooks runs in this process. */
  hookMeters?: HookMeters | undefined;
  /** `node.deps.partitions`, where a worker runs in this process. */
  partitions?: { readonly size: number };
  /** What it has to do with Temporal, where a worker runs in this process. */
  temporal?: TemporalCounts;
  /**
   * How this process asks Temporal, and whether its workers run; where a worker runs in this
   * process.
   */
  health?: Omit<HealthOptions, 'pool'>;
  log?: Logger;
}
export interface MetricsServer {
  url: string;
  health: Health;
  stop(): Promise<void>;
}

/**
 * Serves `/metrics` for Prometheus, besides the SDK's own endpoint, and `/healthz`: 200, or 503
 * while a part of this process does not work (`Health`); the answer says which, and since when. All
 * values but the sweeper's, those of connections, of item runs, of chunks given back and of
 * partitions held are the store's and so the same from every process: aggregate with `max`, not
 * with `sum`.
 */
export const startMetrics = async (options: MetricsOptions): Promise<MetricsServer> => {
  const { registry, health, metrics } = createMetrics(options);
  // However many ask at once, each answer is made once.
  const text = shared(async () => {
    await metrics.refresh();
    return registry.metrics();
  });
  const report = shared(() => health.report());
  const host = options.host ?? '127.0.0.1';
  const isLocal = isLoopback(host);
  const server = createDoor((request, response) => {
    const otherHost = isLocal ? refusalOfHost(request.headers.host) : null;
    if (otherHost !== null) return send(response, 403, 'text/plain', `${otherHost}\n`);
    const path = (request.url ?? '/').split('?')[0];
    const answer =
      request.method !== 'GET' && request.method !== 'HEAD'
        ? Promise.resolve(send(response, 405, 'text/plain', 'GET only\n'))
        : path === '/metrics'
          ? text().then((found) => send(response, 200, registry.contentType, found))
          : path === '/healthz'
            ? report().then((found) =>
                send(response, found.healthy ? 200 : 503, 'application/json', JSON.stringify(found)),
              )
            : Promise.resolve(send(response, 404, 'text/plain', 'Paths: /metrics, /healthz\n'));
    answer.catch((error: unknown) => {
      options.log?.warn({ err: error }, 'metrics: no answer');
      send(response, 500, 'text/plain', 'failed\n');
    });
  }, MOST_CONNECTIONS.metrics);
  server.listen(options.port, host);
  await once(server, 'listening');
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    health,
    stop: async () => {
      health.stop();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/** Shares a call with all who ask while it runs. */
const shared = <T>(call: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | null = null;
  return () => (running ??= call().finally(() => (running = null)));
};

/** Creates all metrics of one process; without a server, for callers that only read them. */
export const createMetrics = (options: Omit<MetricsOptions, 'port' | 'host'>) => {
  const registry = new Registry();
  const health = new Health({ ...options.health, pool: options.pool });
  const metrics = new StoreMetrics(registry, options);
  registerHealth(registry, health);
  addConnectionGauges(registry, { main: options.pool });
  if (options.health?.polls !== undefined) registerPolls(registry, options.health.polls);
  if (options.temporal !== undefined) addTemporalCounts(registry, options.temporal);
  options.meters?.register(registry);
  options.outcomeMeters?.register(registry);
  options.hookMeters?.register(registry);
  return { registry, health, metrics };
};

/**
 * Registers, for this process, whether each part works, and for how long it has given no good
 * answer.
 */
const registerHealth = (registry: Registry, health: Health): void => {
  const registers = [registry];
  const labelNames = ['part'] as const;
  new Gauge({
    name: 'muster_healthy',
    help: '1: this part of the process is healthy, as reported by /healthz',
    labelNames,
    registers,
    collect() {
      for (const { part, healthy } of health.silence()) this.set({ part }, healthy ? 1 : 0);
    },
  });
  new Gauge({
    name: 'muster_silent_seconds',
    help: 'Time since the last good answer of this part; 0: it answers',
    labelNames,
    registers,
    collect() {
      for (const { part, seconds } of health.silence()) this.set({ part }, seconds);
    },
  });
};

/**
 * Registers the polls of this process: an idle one stays below a minute, which a server lets a poll
 * wait for work.
 */
const registerPolls = (registry: Registry, polls: PollWatch): void => {
  new Gauge({
    name: 'muster_poll_age_seconds',
    help: 'Time since a poll of this kind was last answered, with or without work; 0: no poll is open because all slots are taken',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const { kind, seconds } of polls.ages()) this.set({ kind }, seconds);
    },
  });
};

const send = (response: ServerResponse, status: number, type: string, body: string): void => {
  if (response.headersSent) return;
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
};
