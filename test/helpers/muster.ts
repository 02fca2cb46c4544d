import { randomBytes } from 'node:crypto';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import type { Handler } from '../../handlers';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { sealing } from '../../workers/config/codec';
import type { Node } from '../../workers/node';
import type { NodeOptions } from '../../workers/nodeOptions';
import { createNode } from '../../workers/node';
import { prebuiltBundle } from './prebuilt';
import type { TestDatabase } from './database';
import { createDatabase, temporalAddress } from './database';

// Once per jest test file (each has its own module registry): the SDK's own chatter stays out of
// the test output.
Runtime.install({ logger: new DefaultLogger('ERROR') });

export interface TestMuster {
  database: TestDatabase;
  client: Client;
  node: Node;
  prefix: string;
  stop(): Promise<void>;
}

/**
 * A whole Muster in this process, on the run's real servers: own database, own prefix, one worker
 * node with these handlers. `address`: another Temporal's.
 */
export const startMuster = async (
  handlers: readonly Handler[],
  { address = temporalAddress(), ...options }: Partial<NodeOptions> & { address?: string } = {},
): Promise<TestMuster> => {
  const database = await createDatabase({ max: 30 });
  const prefix = `t-${randomBytes(5).toString('hex')}`;
  const connection = await NativeConnection.connect({ address });
  const node = await createNode({
    pool: database.pool,
    connection,
    namespace: 'default',
    prefix,
    handlers,
    log: pino({ level: process.env['MUSTER_TEST_LOG'] ?? 'silent' }),
    callbacks: { allow: [], secret: null },
    workflowBundle: prebuiltBundle,
    shutdownGraceMs: 5_000,
    ...options,
  });
  let failure: unknown;
  const running = node.run().catch((error: unknown) => (failure = error));
  const client = createClient({
    databaseUrl: database.url,
    handlers,
    prefix,
    ...sealing(options),
    temporal: {
      ...{ address, namespace: options.namespace },
      ...{ dataConverter: options.dataConverter, dashboardUrl: options.dashboardUrl },
    },
  });
  return {
    database,
    client,
    node,
    prefix,
    stop: async () => {
      node.shutdown();
      await running;
      await client.close();
      await connection.close();
      await database.drop();
      if (failure !== undefined) throw failure;
    },
  };
};
