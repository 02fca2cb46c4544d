import path from 'node:path';
import pg from 'pg';
import { createStore } from '../../../examples/support/database';
import { createDatabase } from '../../../postgres/testing/database';
import type { EmbeddedPostgres, TemporalDev } from '../../../workers/embedded';
import { startPostgres, startTemporalDev } from '../../../workers/embedded';
import type { Child } from './child';
import { startChild } from './child';
import { FLOOR_SCHEMA } from '../floor/floorStore';

/**
 * The real servers, Postgres as shipped (fsync and synchronous_commit on), and the downstream; one
 * set for a whole run of the bench.
 */
export interface Servers {
  postgres: EmbeddedPostgres;
  temporal: TemporalDev;
  downstream: Child;
  downstreamPort: number;
  floorUrl: string;
  /**
   * A migrated database of its own: what one case leaves in catalogs and caches is not in the next
   * one's way.
   */
  createMusterDatabase(name: string): Promise<string>;
  dropMusterDatabase(name: string): Promise<void>;
  stop(): Promise<void>;
}

export const script = (name: string): string => path.join(__dirname, '..', `${name}.js`);

/** Only to see where the time goes: it costs some itself. */
const PROFILED = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.max': '1000' };

export const startServers = async (profiled: boolean): Promise<Servers> => {
  const [postgres, temporal] = await Promise.all([
    startPostgres({ settings: profiled ? PROFILED : {} }),
    startTemporalDev({ ui: false }),
  ]);
  const downstream = startChild(script('rig/downstream'));
  const downstreamPort = await downstream.ask<number>('listen');
  const floorUrl = await createDatabase(postgres.url, 'floor');
  await query(floorUrl, FLOOR_SCHEMA);
  return {
    postgres,
    temporal,
    downstream,
    downstreamPort,
    floorUrl,
    createMusterDatabase: (name) => createStore(postgres.url, name),
    dropMusterDatabase: (name) => query(postgres.url, `drop database ${name} with (force)`),
    stop: async () => {
      await downstream.stop();
      await Promise.all([postgres.stop(), temporal.stop()]);
    },
  };
};

const query = async (databaseUrl: string, text: string): Promise<void> => {
  const connection = new pg.Client({ connectionString: databaseUrl });
  await connection.connect();
  try {
    await connection.query(text);
  } finally {
    await connection.end();
  }
};
