import { NativeConnection } from '@temporalio/worker';
import pino from 'pino';
import type { Handler } from '../../handlers';
import { createNode } from '../../workers/node';
import type { NodeOptions } from '../../workers/nodeOptions';
import { temporalAddress } from './database';
import type { TestMuster } from './muster';
import { prebuiltBundle } from './prebuilt';

export interface TestNode {
  stop(): Promise<void>;
}

/** Starts another worker node on the store of a Muster of a test; `address` is its Temporal's. */
export const anotherNode = async (
  { database, prefix }: Pick<TestMuster, 'database' | 'prefix'>,
  handlers: readonly Handler[],
  options: Partial<NodeOptions> = {},
  address = temporalAddress(),
): Promise<TestNode> => {
  const connection = await NativeConnection.connect({ address });
  const node = await createNode({
    pool: database.pool,
    connection,
    namespace: 'default',
    prefix,
    handlers,
    log: pino({ level: 'silent' }),
    callbacks: { allow: [], secret: null },
    workflowBundle: prebuiltBundle,
    shutdownGraceMs: 5_000,
    ...options,
  });
  const running = node.run();
  return {
    stop: async () => {
      node.shutdown();
      await running;
      await connection.close();
    },
  };
};
