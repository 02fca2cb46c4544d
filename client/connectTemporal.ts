import { createRequire } from 'node:module';
import type * as Sdk from '@temporalio/client';
import type { Client as TemporalClient, ClientInterceptors, Connection, ConnectionOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { USUAL_ADDRESS } from './usualAddress';
import { withDashboardLinks } from '../workflows/dashboardLinks';
import { failOnClosedChannel } from './closedChannel';
import type { MusterError } from './errors';
import { temporalFailure } from './temporalFailure';

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
   * Address of the dashboard, to which the workflows that this client starts link in Temporal's Web
   * UI. Default: no links.
   */
  dashboardUrl?: string;
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
 * Loads the SDK's client, on demand: it is a third of the library's code, and most reads do not
 * need it. Not by `import()`, which jest refuses to a package of `node_modules`.
 */
export const loadClient = (): typeof Sdk => createRequire(__filename)('@temporalio/client') as typeof Sdk;

/**
 * Returns the caller's own client, or a new client whose connection answers.
 *
 * @throws TemporalUnavailableError
 * @throws MusterError with the code `TEMPORAL_REFUSED`: no waiting helps
 */
export const connectTemporal = async (options: TemporalOptions = {}): Promise<TemporalClient> => {
  const { client, address = USUAL_ADDRESS, namespace = 'default', connection } = options;
  const { dataConverter } = options;
  if (client !== undefined) return client;
  const { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } = loadClient();
  const channelArgs = { ...KEEP_ALIVE, ...connection?.channelArgs };
  const retries = connection?.interceptors ?? [makeGrpcRetryInterceptor(defaultGrpcRetryOptions())];
  let opened: Connection | undefined;
  try {
    opened = Connection.lazy({
      address,
      connectTimeout: '5s',
      ...connection,
      channelArgs,
      interceptors: [...retries, failOnClosedChannel],
    });
    await opened.ensureConnected();
    const interceptors = withDashboardLinks(options.dashboardUrl, options.interceptors, dataConverter);
    return new Client({ connection: opened, namespace, dataConverter, interceptors });
  } catch (error) {
    await opened?.close().catch(() => undefined); // its channel would keep trying
    // A channel that was waited for says only that it was not ready in time.
    const isLate = error instanceof Error && error.message.includes('before the deadline');
    throw (isLate ? await whyUnusable(options) : null) ?? (await temporalFailure({ address, connection }, error));
  }
};

/** The longest that one question may take, in milliseconds. */
const ASK_MS = 2_000;

/**
 * Asks Temporal once, and waits for no server that is away. Returns why it cannot be used, or null.
 */
export const whyUnusable = async ({
  address = USUAL_ADDRESS,
  connection,
}: TemporalOptions): Promise<MusterError | null> => {
  const { Connection } = loadClient();
  let opened: Connection | undefined;
  try {
    opened = Connection.lazy({ address, ...connection, interceptors: [failOnClosedChannel] });
    const { workflowService } = opened;
    await opened.withDeadline(Date.now() + ASK_MS, () => workflowService.getSystemInfo({}));
    return null;
  } catch (error) {
    return await temporalFailure({ address, connection }, error);
  } finally {
    await opened?.close().catch(() => undefined);
  }
};
