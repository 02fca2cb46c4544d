import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { defineHandler } from '../../handlers';
import type { NodeSettings } from '../../activities/nodes/settings';
import { createPool } from '../../postgres/pool';
import { createNode } from '../../workers/node';
import { runToEnd } from '../helpers/runToEnd';

/**
 * A node in a separate process, whose event loop can be blocked. Its lines say who it is and what
 * it sends.
 */

export interface NodeProcess {
  databaseUrl: string;
  address: string;
  prefix: string;
  partitions: number;
  nodes: Partial<NodeSettings>;
}
const settings = JSON.parse(process.argv[2]!) as NodeProcess;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** From outside: `{block: ms}`. */
process.on('message', ({ block }: { block: number }) => {
  // Stands still without using up a core, which the other nodes of the test need.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, block);
  say({ blocked: block });
});

const main = async (): Promise<void> => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const pool = createPool({ databaseUrl: settings.databaseUrl, max: 8, applicationName: 'node process' });
  const connection = await NativeConnection.connect({ address: settings.address });
  const orders = defineHandler<{ shop: string }>({
    name: 'orders',
    target: ({ shop }) => shop,
    limits: { maxItems: 1 },
    linger: { lingerMs: 10 },
    affinity: { partitions: settings.partitions },
    submit: (batch) => {
      say({ sent: batch.tasks[0]!.id, partition: batch.partition });
      return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
    },
  });
  const node = await createNode({
    pool,
    connection,
    namespace: 'default',
    prefix: settings.prefix,
    handlers: [orders],
    log: pino({ level: 'silent' }),
    callbacks: { allow: [], secret: null },
    shutdownGraceMs: 3_000,
    nodes: settings.nodes,
  });
  process.on('SIGTERM', () => node.shutdown());
  say({ ready: true, id: node.id });
  await node.run();
};

runToEnd(main);
