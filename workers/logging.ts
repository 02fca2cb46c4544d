import { IllegalStateError } from '@temporalio/common';
import { Runtime } from '@temporalio/worker';
import type { LogMetadata, Logger as SdkLogger, RuntimeOptions as SdkRuntimeOptions } from '@temporalio/worker';
import type { LogLevel as SdkLevel } from '@temporalio/common';
import pino from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { isPoisoned } from './temporal/isolate';
import type { LogLevel } from './config/settingsSchema';

/**
 * Creates a logger of JSON lines on stderr (stdout is for what a program reads), written at once:
 * the last line before a crash is the one that matters.
 */
export const createLogger = (
  level: LogLevel,
  to: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Logger => pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, to);

const LEVELS: Readonly<Record<SdkLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'>> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** The queue of a handler has activities only. */
const EXPECTED = /^No (workflows|activities) registered, not polling/;

/**
 * Forwards the SDK's log to ours. What its workers say about their own state interests a developer
 * only.
 */
const forwarder = (log: Logger, onPoisoned: () => void): SdkLogger => {
  const write = (level: SdkLevel, message: string, meta: LogMetadata = {}): void => {
    const { sdkComponent, error, ...rest } = meta;
    const ofWorker = sdkComponent === 'worker' || sdkComponent === 'core';
    const isChatter = ofWorker && (level === 'INFO' || EXPECTED.test(message));
    log[isChatter ? 'debug' : LEVELS[level]](
      { ...rest, sdkComponent, ...(error === undefined ? {} : { err: error }) },
      message,
    );
    if (isPoisoned(message, meta)) onPoisoned();
  };
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
};

export interface RuntimeOptions {
  /** host:port of the SDK's own Prometheus endpoint. */
  metricsAddress?: string | undefined;
  /**
   * If the process has installed a runtime, that one is kept, with its log, its metrics and its
   * signals.
   */
  shared?: boolean;
  /** Called each time that the log shows a workflow thread of this process to be unusable. */
  onPoisoned(): void;
}

/**
 * Installs the SDK's runtime: once per process, before anything else of the SDK. Its logs go to
 * `log`, its metrics to `metricsAddress`, and it leaves signals to us. Returns false if the process
 * already has a runtime, which may be shared.
 */
export const installRuntime = (
  log: Logger,
  { metricsAddress, shared = false, onPoisoned }: RuntimeOptions,
): boolean => {
  try {
    Runtime.install(runtimeOptions(log, metricsAddress, onPoisoned));
    return true;
  } catch (error) {
    if (!shared) throw error;
    if (!(error instanceof IllegalStateError)) throw error;
    log.warn(
      "the process already has a Temporal runtime, which is used: it keeps the SDK's log, metrics and signals, and Muster does not notice when a workflow thread becomes unusable",
    );
    return false;
  }
};

const runtimeOptions = (
  log: Logger,
  metricsAddress: string | undefined,
  onPoisoned: () => void,
): SdkRuntimeOptions => ({
  logger: forwarder(log, onPoisoned),
  shutdownSignals: [],
  telemetryOptions: {
    logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
    ...(metricsAddress === undefined
      ? {}
      : {
          metrics: {
            prometheus: {
              bindAddress: metricsAddress,
              countersTotalSuffix: true,
              unitSuffix: true,
              useSecondsForDurations: true,
            },
          },
        }),
  },
});
