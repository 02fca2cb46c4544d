import type { Client as TemporalClient, ClientInterceptors, ConnectionOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { failOnClosedChannel } from './closedChannel';
import { TemporalUnavailableError } from './errors';

/** How to reach the Temporal server. */
export interface TemporalOptions {
  /** The server as host:port; default `localhost:7233`. */
  address?: string;
  /** The namespace; default `default`. */
  namespace?: string;
  /** TLS, API key, metadata and more, as the SDK takes them. */
  connection?: ConnectionOptions;
  /**
   * How arguments and results are encoded. Must be the same as the workers'
   * `temporal.dataConverter`, or clients and workers cannot read each other's messages.
   */
  dataConverter?: DataConverter;
  /** Interceptors of the calls to Temporal. */
  interceptors?: ClientInterceptors;
  /**
   * The caller's own client, in place of all other options: it has its own data converter and
   * interceptors. It is not closed.
   */
  client?: TemporalClient;
}

/** Keep-alive of a silent connection. Servers allow at most one ping per 10 s. */
const KEEP_ALIVE = {
  'grpc.keepalive_time_ms': 12_000,
  'grpc.keepalive_timeout_ms': 8_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/**
 * Returns the caller's own client, or a new client whose connection answers.
 *
 * @throws TemporalUnavailableError
 */
export const connectTemporal = async (options: TemporalOptions = {}): Promise<TemporalClient> => {
  const { client, address = 'localhost:7233', namespace = 'default', connection } = options;
  const { dataConverter, interceptors } = options;
  if (client !== undefined) return client;
  // Loaded on demand: it is a third of the library's code, and most reads do not need it.
  const { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } = await import('@temporalio/client');
  const channelArgs = { ...KEEP_ALIVE, ...connection?.channelArgs };
  const retries = connection?.interceptors ?? [makeGrpcRetryInterceptor(defaultGrpcRetryOptions())];
  const opened = Connection.lazy({
    address,
    connectTimeout: '5s',
    ...connection,
    channelArgs,
    interceptors: [...retries, failOnClosedChannel],
  });
  try {
    await opened.ensureConnected();
    return new Client({ connection: opened, namespace, dataConverter, interceptors });
  } catch (error) {
    await opened.close().catch(() => undefined); // its channel would keep trying
    throw new TemporalUnavailableError(address, error);
  }
};
