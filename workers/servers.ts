import type { NativeConnection } from '@temporalio/worker';
import { borrowPool, createPool } from '../postgres/pool';
import type { Pool } from '../postgres/pool';
import type { Settings } from './config/config';
import { awaitStore, awaitTemporal, connectTemporal } from './temporal/connect';
import type { StartRetry } from './temporal/connect';

/** Connections that the program has already, and keeps: they are used, and not closed. */
export interface GivenServers {
  pool?: Pool;
  connection?: NativeConnection;
}

/** The servers of a worker. */
export interface Servers {
  pool: Pool;
  connection: NativeConnection;
  /** Closes what was opened here. */
  close(): Promise<void>;
}

/** Waits for both servers. Rejects with everything closed that was opened. */
export const openServers = async (
  settings: Settings,
  given: GivenServers,
  max: number,
  retry: StartRetry,
): Promise<Servers> => {
  const { schema, temporal } = settings;
  const databaseUrl = settings.databaseUrl!;
  const pool =
    given.pool === undefined
      ? createPool({ databaseUrl, schema, max, applicationName: 'muster worker' })
      : borrowPool(given.pool, schema, databaseUrl);
  let opened: NativeConnection | undefined;
  const close = async (): Promise<void> => {
    await opened?.close().catch(() => undefined);
    if (given.pool === undefined) await pool.end();
  };
  const connect = async (): Promise<NativeConnection> => {
    if (given.connection !== undefined) return awaitTemporal(temporal, given.connection, retry);
    return (opened = await connectTemporal(temporal, retry));
  };
  try {
    // Both at once, so that the problems of both are reported together.
    const [connection] = await Promise.all([connect(), awaitStore(pool, retry)]);
    return { pool, connection, close };
  } catch (error) {
    await close();
    throw error;
  }
};
