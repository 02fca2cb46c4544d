import { appendFileSync } from 'node:fs';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { DEFAULT_EXECUTION_SETTINGS } from '../../../activities/executions/settings';
import { defineFunction } from '../../../handlers/functions';
import { createPool } from '../../../postgres/pool';
import { createNode } from '../../../workers/node';
import { eventually } from '../../helpers/eventually';
import { runToEnd } from '../../helpers/runToEnd';

/**
 * A node that is killed and stopped from outside: the product's own, with a function that fails as
 * its argument says.
 */

export interface Settings {
  databaseUrl: string;
  address: string;
  prefix: string;
  runs: string;
}
const { databaseUrl, address, prefix, runs } = JSON.parse(process.argv[2]!) as Settings;

const work = defineFunction({
  name: 'work',
  run: async ([kind], { position, executionId }) => {
    appendFileSync(runs, `${executionId} ${position}\n`); // what really ran, before it is answered for
    if (position % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const exitCode = kind === 'fails' || (kind === 'flaky' && Math.random() < 0.5) ? 1 : 0;
    return { exitCode, stdout: String(process.pid) };
  },
});

const main = async (): Promise<void> => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const pool = createPool({ databaseUrl, max: 8, applicationName: 'execution chaos' });
  const waiting = { timeoutMs: 90_000, everyMs: 250, what: 'the servers to be back' };
  const connection = await eventually(() => NativeConnection.connect({ address }).catch(() => null), waiting);
  await eventually(
    () =>
      pool.query('select 1').then(
        () => true,
        () => false,
      ),
    waiting,
  );
  const node = await createNode({
    pool,
    connection,
    namespace: 'default',
    prefix,
    handlers: [],
    log: pino({ level: 'silent' }),
    callbacks: { allow: [], secret: null },
    executions: {
      ...DEFAULT_EXECUTION_SETTINGS,
      serves: true,
      functions: new Map([['work', work]]),
      leaseMs: 3_000,
      maxLosses: 1_000, // the kills are not the items' doing
      retryBaseMs: 200,
      requeueMs: 10_000,
      startupDelayMs: 1_000,
      rollCallMs: 1_000,
    },
  });
  process.on('SIGTERM', () => node.shutdown());
  process.stdout.write('{"ready":true}\n');
  await node.run();
};

runToEnd(main);
