import { randomBytes } from 'node:crypto';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import type { NodeSettings } from '../../activities/nodes/settings';
import type { Handler } from '../../handlers';
import type { Client } from '../../client';
import { createClient } from '../../client';
import type { Node } from '../../workers/node';
import { createNode } from '../../workers/node';
import { prebuiltBundle } from '../helpers/prebuilt';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';

// Once per jest test file: the SDK's own chatter stays out of the test output.
Runtime.install({ logger: new DefaultLogger('ERROR') });

/**
 * Several nodes in this process on one store: what joins, leaves and holds is real, only the
 * processes are not.
 */

const FAST: Partial<NodeSettings> = {
  leaseMs: 3_000,
  maxLeaseMs: 20_000,
  shutdownLimitMs: 1_500,
  minimumHoldMs: 0,
};

export interface Fleet {
  database: TestDatabase;
  client: Client;
  prefix: string;
  join(handlers: readonly Handler[], settings?: Partial<NodeSettings>): Promise<FleetNode>;
  /** Node ids of all partitions by resource; null: no node's. */
  holders(): Promise<Record<string, string | null>>;
  /** Until every partition is held, by these nodes, evenly. */
  settled(nodes: readonly FleetNode[]): Promise<Record<string, string | null>>;
  stop(): Promise<void>;
}

export interface FleetNode {
  node: Node;
  id: string;
  leave(): Promise<void>;
}

export const startFleet = async (handlers: readonly Handler[]): Promise<Fleet> => {
  const database = await createDatabase({ max: 40 });
  const prefix = `f-${randomBytes(5).toString('hex')}`;
  const client = createClient({
    databaseUrl: database.url,
    handlers,
    prefix,
    temporal: { address: temporalAddress() },
  });
  const nodes = new Set<FleetNode>();
  const holders = async (): Promise<Record<string, string | null>> => {
    const { rows } = await database.pool.query<{ resource: string; holder: string | null }>(
      `select resource, case when expires_at > clock() then holder end as holder from lease where resource like 'partition/%' order by resource`,
    );
    return Object.fromEntries(rows.map(({ resource, holder }) => [resource, holder]));
  };
  const join: Fleet['join'] = async (own, settings = {}) => {
    const connection = await NativeConnection.connect({ address: temporalAddress() }); // one a node: a connection takes one worker a queue
    const node = await createNode({
      pool: database.pool,
      connection,
      namespace: 'default',
      prefix,
      handlers: own,
      log: pino({ level: process.env['MUSTER_TEST_LOG'] ?? 'silent' }),
      callbacks: { allow: [], secret: null },
      workflowBundle: prebuiltBundle,
      shutdownGraceMs: 5_000,
      nodes: { ...FAST, ...settings },
    });
    const running = node.run();
    running.catch(() => undefined);
    const one: FleetNode = {
      node,
      id: node.id,
      leave: async () => {
        nodes.delete(one);
        node.shutdown();
        await running;
        await connection.close();
      },
    };
    nodes.add(one);
    return one;
  };
  return {
    database,
    client,
    prefix,
    join,
    holders,
    settled: (live) =>
      eventually(async () => {
        const held = await holders();
        return isEven(
          Object.values(held),
          live.map(({ id }) => id),
        )
          ? held
          : null;
      }),
    stop: async () => {
      await Promise.all([...nodes].map((one) => one.leave()));
      await client.close();
      await database.drop();
    },
  };
};

/** All are held, by these alone, and nobody has two more than another. */
export const isEven = (holders: readonly (string | null)[], nodes: readonly string[]): boolean => {
  const counts = nodes.map((id) => holders.filter((holder) => holder === id).length);
  return counts.reduce((sum, n) => sum + n, 0) === holders.length && Math.max(...counts) - Math.min(...counts) <= 1;
};
