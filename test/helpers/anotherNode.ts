import { NativeConnection } from '@temporalio/worker';
import pino from 'pino';
import type { Handler } from '../../handlers';
import { createNode } from '../../workers/node';
import { temporalAddress } from './database';
import type { TestMuster } from './muster';
import { prebuiltBundle } from './prebuilt';

export interface TestNode {
  stop(): Promise<void>;
}

/** Starts another worker node on the store of a Muster of a test. */
export const anotherNode = async (
  { database, prefix }: TestMuster,
  handlers: readonly Handler[],
): Promise<TestNode> => {
  const connection = await NativeConnection.connect({ address: temporalAddress() });
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
