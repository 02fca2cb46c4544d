import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { defineHandler } from '../../handlers';
import { createPool } from '../../postgres/pool';
import { createNode } from '../../workers/node';
import { runToEnd } from '../helpers/runToEnd';
import type { NodeProcess } from './nodeProcess';

/**
 * A node whose calls do steps without end, with a checkpoint after every fifth one. Its lines say
 * where a call began, which step it does, and what is stored.
 */

const settings = JSON.parse(process.argv[2]!) as NodeProcess;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const steps = defineHandler<{ shop: string }>({
  name: 'steps',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  linger: { lingerMs: 10 },
  affinity: { partitions: settings.partitions },
  submit: async (batch, { signal, partition }) => {
    const last = await partition!.lastCheckpoint();
    let step = (last?.value as { step: number } | undefined)?.step ?? 0;
    const store = async (): Promise<void> => {
      const value = { step };
      await partition!.checkpoint(value);
      say({ stored: value });
    };
    say({ from: last });
    try {
      while (!signal.aborted) {
        say({ step: ++step });
        if (step % 5 === 0) await store();
        else await new Promise((resolve) => setTimeout(resolve, 20));
      }
    } catch (error) {
      say({ refused: (error as Error).name });
    }
    return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});

const main = async (): Promise<void> => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const pool = createPool({ databaseUrl: settings.databaseUrl, max: 8, applicationName: 'checkpoint process' });
  const connection = await NativeConnection.connect({ address: settings.address });
  const node = await createNode({
    pool,
    connection,
    namespace: 'default',
    prefix: settings.prefix,
    handlers: [steps],
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
