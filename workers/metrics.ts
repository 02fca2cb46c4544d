import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { ExecutionMeters } from '../activities/executionMeters';
import type { Pool } from '../postgres/pool';
import { StoreMetrics } from './storeMetrics';
import type { SweepCounts } from './sweepCounts';

export interface MetricsOptions {
  pool: Pool;
  /** 0: a free one, see `url`. */
  port: number;
  /** Default 127.0.0.1: numbers of a business are nobody else's. `0.0.0.0` in a container. */
  host?: string;
  /** `node.sweepCounts`, where a worker runs in this process. */
  sweepCounts?: Readonly<SweepCounts>;
  /** `node.deps.meters`, where a worker runs in this process. */
  meters?: ExecutionMeters;
  /** `node.deps.partitions`, where a worker runs in this process. */
  partitions?: { readonly size: number };
  log?: Logger;
}
export interface MetricsServer {
  url: string;
  stop(): Promise<void>;
}

/** Longest that the store may take over `/healthz`. */
const HEALTH_MS = 2_000;

/**
 * `/metrics` for Prometheus, beside the SDK's own endpoint, and `/healthz` (200, or 503 while Postgres does not answer). All values but
 * the sweeper's, those of item runs, of chunks given back and of partitions held are the store's and so the same from every process: aggregate with `max`, not
 * with `sum`.
 */
export const startMetrics = async (options: MetricsOptions): Promise<MetricsServer> => {
  const registry = new Registry();
  const metrics = new StoreMetrics(registry, options);
  options.meters?.register(registry);
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0];
    const answer =
      request.method !== 'GET' && request.method !== 'HEAD'
        ? Promise.resolve(send(response, 405, 'text/plain', 'GET only\n'))
        : path === '/metrics'
          ? metrics.refresh().then(async () => send(response, 200, registry.contentType, await registry.metrics()))
          : path === '/healthz'
            ? health(options.pool).then((healthy) =>
                send(
                  response,
                  healthy ? 200 : 503,
                  'application/json',
                  JSON.stringify({ database: healthy ? 'up' : 'down' }),
                ),
              )
            : Promise.resolve(send(response, 404, 'text/plain', 'There is /metrics and /healthz\n'));
    answer.catch((error: unknown) => {
      options.log?.warn({ err: error }, 'metrics: no answer');
      send(response, 500, 'text/plain', 'failed\n');
    });
  });
  server.listen(options.port, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const send = (response: ServerResponse, status: number, type: string, body: string): void => {
  if (response.headersSent) return;
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
};

/** False too if no connection is to be had in time. */
export const health = async (pool: Pool): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), HEALTH_MS)));
  const asked = pool.query({ name: 'is-alive', text: 'select 1' }).then(() => true, () => false); // prettier-ignore
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
};
