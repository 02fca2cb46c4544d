import type { Logger } from 'pino';
import { choosePorts, LOOPBACK } from '../embedded/ports';
import { installRuntime } from '../logging';
import { localUrl, PollWatch } from '../metrics/pollWatch';

export interface WatchedRuntimeOptions {
  log: Logger;
  /** Where the SDK's own metrics are served; undefined: no address was requested. */
  sdkMetricsAddress?: string | undefined;
  /** Health is served, and reports on the polls. */
  servesHealth: boolean;
  /** A runtime that the process has already is used. */
  sharesRuntime?: boolean | undefined;
  onPoisoned: () => void;
}

/**
 * Installs the SDK's runtime; if health is served, its counters are read: at the address given, or
 * else at a free port of this machine. Returns undefined if they cannot be: the process's own
 * runtime serves its metrics at an address unknown here.
 */
export const installWatchedRuntime = async (options: WatchedRuntimeOptions): Promise<PollWatch | undefined> => {
  const { log, sdkMetricsAddress, servesHealth, sharesRuntime: shared = false, onPoisoned } = options;
  const metricsAddress = sdkMetricsAddress ?? (servesHealth ? await freeAddress() : undefined);
  const ours = installRuntime(log, { shared, metricsAddress, onPoisoned });
  return ours && servesHealth ? new PollWatch(localUrl(metricsAddress!)) : undefined;
};

const freeAddress = async (): Promise<string> => `${LOOPBACK}:${(await choosePorts({ port: {} })).port}`;
