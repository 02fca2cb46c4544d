import { randomBytes } from 'node:crypto';
import type { ConnectionOptions } from '@temporalio/client';
import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import pg from 'pg';
import { failOnClosedChannel } from '../../client/closedChannel';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';

export const TEMPLATE_DATABASE = 'muster_template';

const required = (name: string): string => {
  const value = process.env[name];
  if (value === undefined)
    throw new Error(`${name} is not set: run the tests through jest, whose global setup starts the servers`);
  return value;
};
export const postgresUrl = (): string => required('MUSTER_TEST_POSTGRES_URL');
export const temporalAddress = (): string => required('MUSTER_TEST_TEMPORAL_ADDRESS');
/** Of a client that rings nobody: by default it would reach whatever this machine runs. */
export const NO_TEMPORAL = { address: '127.0.0.1:1' };
export const testServerPath = (): string => required('MUSTER_TEST_SERVER');

export interface TestDatabase {
  url: string;
  name: string;
  pool: Pool;
  /** A superuser connection string for a new, differently configured pool is `url` itself. */
  drop(): Promise<void>;
}

const withAdmin = async (work: (admin: pg.Client) => Promise<unknown>): Promise<void> => {
  const admin = new pg.Client({ connectionString: postgresUrl() });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
};

/** Leads an address through the pooler of `npm run test:pooler`; otherwise it stays as it is. */
const throughPooler = (url: URL): void => {
  const port = process.env['MUSTER_TEST_POOLER_PORT'];
  if (port === undefined) return;
  url.port = port;
  url.searchParams.set('pgbouncer', 'true');
};

/**
 * A separate database, with the migrated schema; drop it in `afterAll`. `empty`: without any
 * table. `copyOf`: as that one is now, with its installation and sequences, as a restored backup
 * has them; nothing may be connected to it.
 */
export const createDatabase = async (
  options: { max?: number; empty?: boolean; copyOf?: TestDatabase } = {},
): Promise<TestDatabase> => {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const template = options.copyOf?.name ?? TEMPLATE_DATABASE;
  await withAdmin((admin) =>
    admin.query(`create database ${name}${options.empty === true ? '' : ` template ${template} strategy file_copy`}`),
  );
  const url = new URL(postgresUrl());
  url.pathname = `/${name}`;
  throughPooler(url);
  const pool = createPool({ databaseUrl: url.href, max: options.max ?? 20, applicationName: 'test' });
  return {
    url: url.href,
    name,
    pool,
    drop: async () => {
      await pool.end();
      await withAdmin((admin) => admin.query(`drop database ${name} with (force)`));
    },
  };
};

/**
 * Connects to Temporal as the product does: a call that waits to be tried again when its channel is
 * closed fails, and does not end the process, where another file's tests run by then.
 */
export const connectTo = (options: ConnectionOptions): Promise<Connection> =>
  Connection.connect({
    ...options,
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), failOnClosedChannel],
  });
