import type { Logger } from 'pino';
import { choosePorts, LOOPBACK } from '../embedded/ports';
import { installRuntime } from '../logging';
import { localUrl, PollWatch } from '../metrics/pollWatch';

export interface WatchedRuntimeOptions {
  log: Logger;
  /** Where the SDK's own metrics are served; undefined: nowhere that anybody asked for. */
  sdkMetricsAddress?: string | undefined;
  /** Health is served, and says what becomes of the polls. */
  servesHealth: boolean;
  /** A runtime that the process has already is used. */
  sharesRuntime?: boolean | undefined;
  onPoisoned: () => void;
}

/**
 * Installs the SDK's runtime; where health is served, its counters are read: at the address given,
 * else at a free port of this machine. Returns undefined where they cannot be: the process's own
 * runtime serves its metrics where this one does not know.
 */
export const installWatchedRuntime = async (options: WatchedRuntimeOptions): Promise<PollWatch | undefined> => {
  const { log, sdkMetricsAddress, servesHealth, sharesRuntime: shared = false, onPoisoned } = options;
  const metricsAddress = sdkMetricsAddress ?? (servesHealth ? await freeAddress() : undefined);
  const ours = installRuntime(log, { shared, metricsAddress, onPoisoned });
  return ours && servesHealth ? new PollWatch(localUrl(metricsAddress!)) : undefined;
};

const freeAddress = async (): Promise<string> => `${LOOPBACK}:${(await choosePorts({ port: {} })).port}`;
