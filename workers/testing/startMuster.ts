import { randomBytes } from 'node:crypto';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { sealing } from '../config/codec';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import { createAhead, replaceClock } from '../../postgres/testing/clock';
import { createDatabase, createTables, dropDatabase } from '../../postgres/testing/database';
import { Requests } from '../../workflows/temporal/requests';
import { clientPlugs } from '../temporal/plugs';
import type { StartOptions } from '../worker';
import { startWorker } from '../worker';
import { Ends } from './ends';
import type { Servers } from './servers';
import { startServers } from './servers';
import { TestClock } from './testClock';

/** What `startMuster` sets itself. */
type OwnSettings = 'databaseUrl' | 'schema' | 'prefix' | 'temporal' | 'versioning' | 'setCurrent';

/** The settings of `startWorker`, without those of the servers. */
export interface StartMusterOptions extends Omit<StartOptions, OwnSettings> {
  /**
   * Servers that `startServers` has started, for all test files of a run; each call of
   * `startMuster` has a separate database on them. Default: servers are started, and stopped by
   * `stop`.
   */
  servers?: Pick<Servers, 'databaseUrl' | 'temporalAddress'>;
  /** Data converter and interceptors, as in the config file. */
  temporal?: Pick<NonNullable<StartOptions['temporal']>, 'dataConverter' | 'interceptors'>;
}

/** A Muster that runs: a client, and what else a test needs of it. */
export interface StartedMuster {
  readonly client: Client;
  /** Moves the store's time. */
  readonly clock: TestClock;
  readonly databaseUrl: string;
  /** Of the Temporal server, for workers and workflows of the test; its namespace is `default`. */
  readonly temporalAddress: string;
  /** Of workflow ids and task queues: `submitTask(handler, task, { prefix })`. */
  readonly prefix: string;
  /** Stops all that was started. Rejects if the worker had failed. */
  stop(): Promise<void>;
}

/**
 * Starts the real thing for a test: Postgres and Temporal (embedded, as of `muster dev`), the
 * tables in a new database, and a worker in this process that serves the handlers. It runs in jest
 * and vitest; nothing is read from the environment, and nothing stays when the process ends.
 */
export const startMuster = async (options: StartMusterOptions): Promise<StartedMuster> => {
  const { servers: given, temporal: plugs = {}, log = 'silent', shutdownGraceMs = GRACE_MS, ...rest } = options;
  const ends = new Ends();
  try {
    const servers = given ?? ends.later(await startServers(), (started) => started.stop());
    const name = `muster_test_${randomBytes(6).toString('hex')}`;
    const databaseUrl = await createDatabase(servers.databaseUrl, name);
    ends.later(name, () => dropDatabase(servers.databaseUrl, name));
    const pool = ends.later(createPool({ databaseUrl, applicationName: 'muster test' }), (opened) => opened.end());
    await createTables(pool, databaseUrl);
    await moveByRow(pool);
    const { temporalAddress } = servers;
    const connection = ends.later(await Connection.connect({ address: temporalAddress }), (opened) => opened.close());
    const temporal = new TemporalClient({ connection, ...clientPlugs(plugs) });
    const prefix = name.replaceAll('_', '-');
    const settings = { ...rest, log, shutdownGraceMs, databaseUrl, prefix };
    const worker = startWorker({ ...settings, temporal: { ...plugs, address: temporalAddress } });
    ends.later(await worker, (started) => started.stop());
    const { handlers = [] } = rest;
    const client = createClient({ databaseUrl, handlers, prefix, ...sealing(rest), temporal: { client: temporal } });
    ends.later(client, (opened) => opened.close());
    const clock = new TestClock(pool, new Requests(temporal), prefix);
    return { client, clock, databaseUrl, temporalAddress, prefix, stop: () => ends.end() };
  } catch (error) {
    await ends.end().catch(() => undefined); // the first error says more
    throw error;
  }
};

/** How long calls in flight may take when a test stops. */
const GRACE_MS = 5_000;

/** Makes the clock of a new database one that `TestClock` moves. */
const moveByRow = async (pool: Pool): Promise<void> => {
  await createAhead(pool);
  await replaceClock(pool);
};
