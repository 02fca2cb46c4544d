import type { Logger } from 'pino';
import type { Settings } from './config/config';
import { DEFAULT_SHUTDOWN_GRACE_MS, startWorker } from './process';
import type { RunningWorker, WorkerOptions } from './process';
import { stopOnSignals } from './signals';

export interface RunOptions extends Omit<WorkerOptions, 'signal'> {
  /** Called when it polls. */
  onReady?(worker: RunningWorker): void;
}

/**
 * Runs a worker process from start to end: resolves when it has drained after SIGTERM or SIGINT (or
 * was stopped while it still waited for its servers); rejects if it cannot start or fails. A second
 * signal ends the process at once.
 */
export const runWorker = async (settings: Settings, options: RunOptions): Promise<void> => {
  const { log, shutdownGraceMs = DEFAULT_SHUTDOWN_GRACE_MS } = options;
  const stop = stopOnSignals((signal) =>
    log.info(
      { signal, graceMs: shutdownGraceMs },
      'draining: finishing in-flight calls; send the signal again to exit immediately',
    ),
  );
  try {
    const worker = await startUnlessStopped(settings, options, stop.signal);
    if (worker === null) return;
    if (stop.signal.aborted) worker.stop();
    else stop.signal.addEventListener('abort', () => worker.stop());
    announce(worker, settings, log);
    options.onReady?.(worker);
    await worker.ended;
    log.info({ node: worker.node.id }, 'drained');
  } finally {
    stop.release();
  }
};

const startUnlessStopped = async (
  settings: Settings,
  options: RunOptions,
  signal: AbortSignal,
): Promise<RunningWorker | null> => {
  try {
    return await startWorker(settings, { ...options, signal });
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
};

const announce = (worker: RunningWorker, settings: Settings, log: Logger): void =>
  log.info(
    {
      node: worker.node.id,
      handlers: settings.handlers.map((handler) => handler.name),
      temporal: settings.temporal.address,
      namespace: settings.temporal.namespace,
      prefix: settings.prefix,
      config: settings.config,
    },
    'ready',
  );
