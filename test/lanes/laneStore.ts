import type { Handler } from '../../handlers';
import type { Client } from '../../client';
import { createClient } from '../../client';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { Downstream } from './downstream';

/** A store with lanes and a client, and no worker: every turn is the test's own. */
export interface LaneStore {
  database: TestDatabase;
  client: Client;
  /** Lets the store know of a worker that has these handlers. */
  pretendWorker(handlers: readonly string[]): Promise<unknown>;
  stop(): Promise<void>;
}

export const openLaneStore = async (
  handlers: readonly Handler[] = [new Downstream().handler()],
): Promise<LaneStore> => {
  const database = await createDatabase();
  const client = createClient({
    databaseUrl: database.url,
    prefix: `t-${database.name}`,
    temporal: { address: temporalAddress() },
    handlers,
  });
  return {
    database,
    client,
    pretendWorker: (names) =>
      database.pool.query(
        `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n', 'q', $1, clock(), clock() + interval '1 hour')`,
        [names],
      ),
    stop: async () => {
      await client.close();
      await database.drop();
    },
  };
};
