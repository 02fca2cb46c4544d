import { randomBytes } from 'node:crypto';
import type { Client } from '../../client';
import { createClient } from '../../client';
import type { Pool } from '../../postgres/pool';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';

/** A store with a client and no worker: fan-outs need none until somebody is to be told. */
export interface FanoutShop {
  database: TestDatabase;
  pool: Pool;
  client: Client;
  stop(): Promise<void>;
}

export const openFanoutShop = async (connections = 20): Promise<FanoutShop> => {
  const database = await createDatabase({ max: connections });
  const client = createClient({
    databaseUrl: database.url,
    prefix: `t-${randomBytes(5).toString('hex')}`,
    maxConnections: connections,
    temporal: { address: temporalAddress() },
  });
  return {
    database,
    pool: database.pool,
    client,
    stop: async () => {
      await client.close();
      await database.drop();
    },
  };
};

/** Every one `size` long at most, in order. */
export const chunks = <T>(items: Iterable<T>, size: number): T[][] => {
  const all: T[][] = [];
  for (const item of items) {
    if (all.length === 0 || all.at(-1)!.length === size) all.push([]);
    all.at(-1)!.push(item);
  }
  return all;
};
