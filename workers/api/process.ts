import type { Logger } from 'pino';
import { createPool } from '../../postgres/pool';
import type { RunningApi } from './api';
import { startApi } from './api';
import { USUAL_API_PORT } from '../config/defaults';
import type { Settings } from '../config/config';
import { awaitStore, refuseWrongTemporal } from '../temporal/connect';
import { stopOnSignals } from '../signals';

export interface RunApiOptions {
  log: Logger;
  /** Longest that requests in progress may take at a stop. */
  shutdownGraceMs: number;
  /** Longest wait for Postgres at the start. */
  startTimeoutMs: number;
  onReady(api: RunningApi): void;
}

/**
 * Runs the HTTP API as a process, from start to end: resolves when it has stopped after SIGTERM or
 * SIGINT. A second signal ends it at once.
 */
export const runApi = async (settings: Settings, options: RunApiOptions): Promise<void> => {
  const { log, shutdownGraceMs: graceMs, startTimeoutMs } = options;
  const stop = stopOnSignals((signal) =>
    log.info({ signal, graceMs }, 'stopping: finishing open requests; send the signal again to exit immediately'),
  );
  try {
    const pool = createPool({ databaseUrl: settings.databaseUrl!, schema: settings.schema, max: 1 });
    // While Temporal is away the API accepts; with refused settings it would never wake a worker.
    const refused = refuseWrongTemporal(settings.temporal, log);
    const ready = awaitStore(pool, { log, startTimeoutMs, signal: stop.signal }).finally(() => pool.end());
    await Promise.all([ready, refused]);
    const port = settings.api.port ?? USUAL_API_PORT;
    const api = await startApi({ ...settings, api: { ...settings.api, port } }, { log });
    log.info({ url: api.url, handlers: settings.handlers.map(({ name }) => name) }, 'api: ready');
    options.onReady(api);
    await aborted(stop.signal);
    await api.stop(graceMs);
    log.info('api: stopped');
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    stop.release();
  }
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
