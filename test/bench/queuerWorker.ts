import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { createPool } from '../../postgres/pool';
import type { Pool } from '../../postgres/pool';
import type { Node } from '../../workers/node';
import { createNode } from '../../workers/node';
import { serve } from './child';
import { flowHandler, LANE_PREFIX } from './queuerHandler';

/** A worker process with both handlers of the flow, as `muster worker` runs it. */
let pool: Pool;
let connection: NativeConnection;
let node: Node;
let running: Promise<void>;

serve(
  {
    open: async ({ databaseUrl, temporalAddress }: { databaseUrl: string; temporalAddress: string }) => {
      Runtime.install({ logger: new DefaultLogger('ERROR') });
      pool = createPool({ databaseUrl, max: 20, applicationName: 'muster worker' });
      connection = await NativeConnection.connect({ address: temporalAddress });
      node = await createNode({
        pool,
        connection,
        namespace: 'default',
        prefix: LANE_PREFIX,
        handlers: [flowHandler('answers'), flowHandler('accepts')],
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
