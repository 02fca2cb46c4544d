import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import type { Handler } from '../../../handlers';
import type { Pool } from '../../../postgres/pool';
import { createPool } from '../../../postgres/pool';
import type { Node } from '../../../workers/node';
import { createNode } from '../../../workers/node';
import { serve } from '../rig/child';

export interface Open {
  databaseUrl: string;
  temporalAddress: string;
}

/**
 * A worker process of the bench: one node as `muster worker` runs it, opened when it is told to.
 */
export const serveWorker = <O extends Open>(prefix: string, handlersOf: (open: O) => Handler[]): void => {
  let pool: Pool;
  let connection: NativeConnection;
  let node: Node;
  let running: Promise<void>;
  serve(
    {
      open: async (open: O) => {
        Runtime.install({ logger: new DefaultLogger('ERROR') });
        pool = createPool({ databaseUrl: open.databaseUrl, max: 20, applicationName: 'muster worker' });
        connection = await NativeConnection.connect({ address: open.temporalAddress });
        node = await createNode({
          pool,
          connection,
          namespace: 'default',
          prefix,
          handlers: handlersOf(open),
          log: pino({ level: 'warn' }, pino.destination(2)),
          callbacks: { allow: [], secret: null },
          shutdownGraceMs: 5_000,
        });
        running = node.run();
        running.catch((error: unknown) => {
          process.stderr.write(`worker: ${String(error)}\n`);
          process.exit(1);
        });
      },
    },
    async () => {
      node.shutdown();
      await running;
      await connection.close();
      await pool.end();
    },
  );
};
