import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import type { NodeSettings } from '../../activities/nodes/settings';
import type { Handler } from '../../handlers';
import { createPool } from '../../postgres/pool';
import { createNode } from '../../workers/node';

/** What a node in a separate process is given, as JSON in its first argument. */
export interface NodeProcess {
  databaseUrl: string;
  address: string;
  prefix: string;
  partitions: number;
  nodes: Partial<NodeSettings>;
}

export const settings = (): NodeProcess => JSON.parse(process.argv[2]!) as NodeProcess;

/** Prints a line that the test reads. */
export const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** Serves a handler until SIGTERM. Says when it is ready, and who it is. */
export const serveNode = async (
  { databaseUrl, address, prefix, nodes }: NodeProcess,
  handler: Handler,
): Promise<void> => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const node = await createNode({
    pool: createPool({ databaseUrl, max: 8, applicationName: 'node process' }),
    connection: await NativeConnection.connect({ address }),
    namespace: 'default',
    prefix,
    handlers: [handler],
    log: pino({ level: 'silent' }),
    callbacks: { allow: [], secret: null },
    shutdownGraceMs: 3_000,
    nodes,
  });
  process.on('SIGTERM', () => node.shutdown());
  say({ ready: true, id: node.id });
  await node.run();
};
