import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import pino from 'pino';
import type { Handler } from '../../handlers';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { createPool } from '../../postgres/pool';
import type { Client as Session, Pool } from '../../postgres/pool';
import { createNode } from '../../workers/node';
import type { NodeOptions } from '../../workers/nodeOptions';
import { leaderWorkflowId } from '../../workflows/naming';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { prebuiltBundle } from '../helpers/prebuilt';
import '../helpers/muster'; // quiets the SDK's own log, once per test file
import type { HistoryEvent } from './histories';

/**
 * Like `startMuster`, but its worker comes and goes as the test says, and its statements can be
 * made to fail. No sweeper.
 */
export interface OwnMuster {
  database: TestDatabase;
  client: Client;
  prefix: string;
  /** Starts a worker; answers how to stop it. */
  startNode(options?: Partial<NodeOptions>): Promise<() => Promise<void>>;
  /**
   * Statements of this name fail in every worker's transactions, as if the session were lost;
   * answers how often they did so far.
   */
  failing: { name: string | null; times: number };
  /** Statements of these names take so much longer in every worker's transactions. */
  slow: { names: readonly string[]; ms: number };
  leaderOf(handler: string): Promise<{ id: number; workflowId: string; epoch: number; state: number }>;
  historyOf(handler: string): Promise<HistoryEvent[]>;
  stop(): Promise<void>;
}

export const openOwn = async (handlers: readonly Handler[]): Promise<OwnMuster> => {
  const database = await createDatabase();
  const prefix = `own-${database.name}`;
  const failing: OwnMuster['failing'] = { name: null, times: 0 };
  const slow: OwnMuster['slow'] = { names: [], ms: 0 };
  const pool = breakable(createPool({ databaseUrl: database.url, max: 20 }), failing, slow);
  const client = createClient({
    databaseUrl: database.url,
    handlers,
    prefix,
    temporal: { address: temporalAddress() },
  });
  const leaderOf: OwnMuster['leaderOf'] = async (handler) => {
    const { rows } = await database.pool.query<{ id: number; epoch: number; state: number; name: string }>(
      'select l.id, l.name, l.epoch, l.state from leader l join handler h on h.id = l.handler_id where h.name = $1 order by l.id',
      [handler],
    );
    const { id, name, epoch, state } = rows[0]!;
    return { id, workflowId: leaderWorkflowId(prefix, handler, name, id), epoch, state };
  };
  const stops = new Set<() => Promise<void>>();
  return {
    database,
    client,
    prefix,
    failing,
    slow,
    leaderOf,
    historyOf: async (handler) => {
      const { workflowId } = await leaderOf(handler);
      return (await (await client.temporal()).workflow.getHandle(workflowId).fetchHistory()).events ?? [];
    },
    startNode: async (options = {}) => {
      const connection = await NativeConnection.connect({ address: temporalAddress() });
      const node = await createNode({
        pool,
        connection,
        namespace: 'default',
        prefix,
        handlers,
        log: pino({ level: process.env['MUSTER_TEST_LOG'] ?? 'silent' }),
        callbacks: { allow: [], secret: null },
        shutdownGraceMs: 5_000,
        sweepEveryMs: 0,
        workflowBundle: prebuiltBundle,
        ...options,
      });
      const running = node.run();
      const stop = async (): Promise<void> => {
        if (!stops.delete(stop)) return;
        node.shutdown();
        await running;
        await connection.close();
      };
      stops.add(stop);
      return stop;
    },
    stop: async () => {
      failing.name = null;
      for (const stop of [...stops]) await stop();
      await client.close();
      await pool.end();
      await database.drop();
    },
  };
};

const breakable = (pool: Pool, failing: OwnMuster['failing'], slow: OwnMuster['slow']): Pool => {
  const connect = pool.connect.bind(pool) as (...args: unknown[]) => Promise<Session>;
  const wrapped = new WeakSet<object>();
  // Transactions take their session as a promise; `pool.query` takes its own by a callback, which
  // passes.
  const either = (...args: unknown[]): Promise<Session> =>
    args.length > 0
      ? connect(...args)
      : connect().then((session) => {
          if (!wrapped.has(session)) {
            wrapped.add(session);
            const query = session.query.bind(session) as unknown as (...each: unknown[]) => Promise<unknown>;
            const checked = (...each: unknown[]): Promise<unknown> => {
              const { name } = each[0] as { name?: string };
              if (name !== undefined && slow.names.includes(name)) return sleep(slow.ms).then(() => query(...each));
              if (name === undefined || name !== failing.name) return query(...each);
              failing.times++;
              return Promise.reject(
                Object.assign(new Error(`Connection terminated: the test fails ${name}`), { code: '08006' }),
              );
            };
            session.query = checked as unknown as typeof session.query;
          }
          return session;
        });
  pool.connect = either;
  return pool;
};
