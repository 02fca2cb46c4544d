import type pg from 'pg';
import { createClient, defineHandler } from '../../../client';
import type { Client } from '../../../client';
import { registerHandler } from '../../../postgres/grouping/handler';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, NO_TEMPORAL } from '../../helpers/database';

/** A store whose handlers a worker has registered; tasks come by SQL, and none is sent. */

export interface Order {
  customer: string;
  total: number;
}

const submit = () => Promise.reject(new Error('no worker runs here'));
const base = { target: (order: Order) => order.customer, limits: { maxItems: 10 }, submit };
const handlers = [
  defineHandler<Order>({ ...base, name: 'orders' }),
  defineHandler<Order>({ ...base, name: 'per-target', leaders: 'target' }),
  defineHandler<Order>({
    ...base,
    name: 'small',
    maxPayloadBytes: 300,
    limits: { maxItems: 10, maxBytes: 200, overheadBytes: 20, maxWeight: 5 },
    distinctBy: (order) => String(order.total),
  }),
  defineHandler<Order>({ ...base, name: 'few', maxQueued: { perHandler: 3, perTarget: 2 } }),
  defineHandler<Order>({ ...base, name: 'lane', service: (to) => to, lane: { approach: 'parallel' } }),
];

export interface SqlShop {
  database: TestDatabase;
  client: Client;
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

export const openSqlShop = async (): Promise<SqlShop> => {
  const database = await createDatabase();
  for (const handler of handlers) await registerHandler(database.pool, handler);
  const client = createClient({ databaseUrl: database.url, handlers, temporal: NO_TEMPORAL });
  return {
    database,
    client,
    sql: async (text, values = []) => (await database.pool.query(text, values)).rows as Record<string, unknown>[],
    stop: async () => {
      await client.close();
      await database.drop();
    },
  };
};

/** What the database says of a statement that it refuses. */
export const refusal = async (
  refused: Promise<unknown>,
): Promise<Pick<pg.DatabaseError, 'code' | 'message' | 'detail' | 'hint'>> => {
  const error = (await refused.then(
    () => new Error('it was accepted'),
    (thrown: unknown) => thrown,
  )) as Error & { cause?: pg.DatabaseError };
  const { code, message, detail, hint } = error.cause ?? (error as pg.DatabaseError);
  return { code, message, detail, hint };
};
