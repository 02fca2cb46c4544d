import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { whyUnusable } from '../../client/connectTemporal';
import { MusterError } from '../../client/errors';
import { temporalFailure } from '../../client/temporalFailure';
import { checkSchema } from '../../postgres/migrating/migrate';
import type { Pool } from '../../postgres/pool';
import type { TemporalSettings } from '../config/config';
import { GRPC_NOT_FOUND } from '../../workflows/planning/protocol';

/**
 * How a start waits for servers that come up later, as they do when a machine or a compose project
 * starts.
 */
export interface StartRetry {
  log: Logger;
  /** Counted from the first try, for each server. */
  startTimeoutMs: number;
  /** Aborted: give up at once. */
  signal: AbortSignal;
}

const PAUSE_MS = 1_000;
const LOG_EVERY_MS = 10_000;

/**
 * Waits until the database answers and has tables that this program can run on. Those that are too
 * new for it are never waited for.
 */
export const awaitStore = async (pool: Pool, retry: StartRetry): Promise<void> => {
  const newer = await retried(
    () => checkSchema(pool),
    retry,
    (error) => ['DATABASE_UNAVAILABLE', 'SCHEMA_MISSING'].includes(codeOf(error)),
  );
  if (newer.length > 0)
    retry.log.info(`the tables are of a newer version (${newer.join(', ')}), which this program supports`);
};

/** Waits until Temporal answers and has the namespace. Refused credentials are never waited for. */
export const connectTemporal = (settings: TemporalSettings, retry: StartRetry): Promise<NativeConnection> =>
  retried(
    () => connectOnce(settings),
    retry,
    (error) => codeOf(error) === 'TEMPORAL_UNAVAILABLE',
  );

/**
 * Throws `TEMPORAL_REFUSED` where no waiting would help. A server that is away is only logged: who
 * calls this works without it. Takes at most a few seconds.
 */
export const refuseWrongTemporal = async ({ address, connection }: TemporalSettings, log: Logger): Promise<void> => {
  const why = await whyUnusable({ address, connection });
  if (why?.code === 'TEMPORAL_REFUSED') throw why;
  if (why !== null) log.warn(`${why.message} Workers find the work that is accepted meanwhile by themselves.`);
};

/** The same over a connection that the program has, which stays open whatever becomes of it. */
export const awaitTemporal = (
  settings: TemporalSettings,
  connection: NativeConnection,
  retry: StartRetry,
): Promise<NativeConnection> =>
  retried(
    () =>
      hasNamespace(connection, settings).catch(async (error: unknown) => {
        throw await explained(settings, error);
      }),
    retry,
    (error) => codeOf(error) === 'TEMPORAL_UNAVAILABLE',
  ).then(() => connection);

const hasNamespace = (connection: NativeConnection, { namespace }: TemporalSettings): Promise<unknown> =>
  connection.withDeadline(Date.now() + 10_000, () => connection.workflowService.describeNamespace({ namespace }));

const connectOnce = async (settings: TemporalSettings): Promise<NativeConnection> => {
  const { address, connection: options } = settings;
  let connection: NativeConnection | undefined;
  try {
    connection = await NativeConnection.connect({ ...options, address });
    await hasNamespace(connection, settings);
    return connection;
  } catch (error) {
    await connection?.close().catch(() => undefined);
    throw await explained(settings, error);
  }
};

const explained = async (
  { address, namespace, connection }: TemporalSettings,
  error: unknown,
): Promise<MusterError> => {
  if (isGrpcServiceError(error) && error.code === GRPC_NOT_FOUND)
    return new MusterError(
      'TEMPORAL_UNAVAILABLE',
      `Temporal at ${address} has no namespace "${namespace}". Create it (temporal operator namespace create -n ${namespace}) or set TEMPORAL_NAMESPACE.`,
      { cause: error },
    );
  return temporalFailure({ address, connection }, error);
};

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

const retried = async <T>(
  work: () => Promise<T>,
  { log, startTimeoutMs, signal }: StartRetry,
  passes: (error: unknown) => boolean,
): Promise<T> => {
  const begun = performance.now();
  let loggedAt = -Infinity;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      const leftMs = startTimeoutMs - (performance.now() - begun);
      if (!passes(error) || leftMs <= 0) throw error;
      if (performance.now() - loggedAt > LOG_EVERY_MS) {
        loggedAt = performance.now();
        log.warn(`${(error as Error).message} Trying again for ${Math.ceil(leftMs / 1_000)} s.`);
      }
      await sleep(Math.min(PAUSE_MS, leftMs), undefined, { signal });
    }
  }
};
