import type { Client as TemporalClient, ClientInterceptors, ConnectionOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { TemporalUnavailableError } from './errors';

export interface TemporalOptions {
  /** host:port; default `localhost:7233`. */
  address?: string;
  /** Default `default`. */
  namespace?: string;
  /** TLS, API key, metadata, as the SDK takes them. */
  connection?: ConnectionOptions;
  /**
   * How arguments and results are encoded: the same as the workers' `temporal.dataConverter`, or
   * they cannot read each other.
   */
  dataConverter?: DataConverter;
  /** Interceptors of the calls to Temporal. */
  interceptors?: ClientInterceptors;
  /**
   * The caller's own client, instead of all of these: it has its data converter and interceptors,
   * and is not closed.
   */
  client?: TemporalClient;
}

/** Keep-alive of a silent connection; servers allow no more than one ping in 10 s. */
const KEEP_ALIVE = {
  'grpc.keepalive_time_ms': 12_000,
  'grpc.keepalive_timeout_ms': 8_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/** Returns a client on a connection that answers, or the caller's own. */
export const connectTemporal = async (options: TemporalOptions = {}): Promise<TemporalClient> => {
  const { client, address = 'localhost:7233', namespace = 'default', connection } = options;
  const { dataConverter, interceptors } = options;
  if (client !== undefined) return client;
  // A third of what the library loads, and most of what is only read does not need it.
  const { Client, Connection } = await import('@temporalio/client');
  const channelArgs = { ...KEEP_ALIVE, ...connection?.channelArgs };
  const opened = Connection.lazy({ address, connectTimeout: '5s', ...connection, channelArgs });
  try {
    await opened.ensureConnected();
    return new Client({ connection: opened, namespace, dataConverter, interceptors });
  } catch (error) {
    await opened.close().catch(() => undefined); // its channel would keep trying
    throw new TemporalUnavailableError(address, error);
  }
};
