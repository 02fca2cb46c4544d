import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { defineHandler } from '../../../handlers';
import { createPool } from '../../../postgres/pool';
import { createNode } from '../../../workers/node';
import { runToEnd } from '../../helpers/runToEnd';

/**
 * A worker in a separate process, for tests that kill it. Its handler posts to a downstream in
 * the test's process.
 */
export interface SlotProcess {
  databaseUrl: string;
  address: string;
  prefix: string;
  url: string;
  leaders: number;
  perHandler: number;
}

export const slotHandler = ({ url, leaders, perHandler }: Pick<SlotProcess, 'url' | 'leaders' | 'perHandler'>) =>
  defineHandler<{ to: string }>({
    name: 'orders',
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    leaders,
    concurrency: { perTarget: 4, perHandler },
    idempotency: { by: 'batch' },
    timeoutMs: 1_000,
    submit: async (batch, { signal }) => {
      await fetch(url, { method: 'POST', signal }).then((response) => response.arrayBuffer());
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });

const main = async (settings: SlotProcess): Promise<void> => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const pool = createPool({ databaseUrl: settings.databaseUrl, max: 8, applicationName: 'slot process' });
  const connection = await NativeConnection.connect({ address: settings.address });
  const node = await createNode({
    pool,
    connection,
    namespace: 'default',
    prefix: settings.prefix,
    handlers: [slotHandler(settings)],
    log: pino({ level: 'silent' }),
    callbacks: { allow: [], secret: null },
    shutdownGraceMs: 3_000,
  });
  process.on('SIGTERM', () => node.shutdown());
  await node.run();
};

if (require.main === module) runToEnd(() => main(JSON.parse(process.argv[2]!) as SlotProcess));
