import { DEFAULT_PREFIX } from '../../workflows/naming';
import { createLogger } from '../../workers/logging';
import { startWorker } from '../../workers/process';
import { numberFlag, processFlags, textFlag } from '../support/flags';
import { onEnd, runMain } from '../support/server';
import { indexCityHandler } from './handler';

/**
 * A worker process of the demo: what `muster worker --config examples/demo/muster.config.ts` runs, with every setting from the
 * demo and none from the machine. The database's address comes from the environment, since it holds a password.
 */
const flags = processFlags({
  temporal: textFlag('localhost:7233'),
  'index-url': textFlag('http://127.0.0.1:4455'),
  /** On a stop, running calls may take this long. */
  'grace-ms': numberFlag(5_000),
});

async function main(): Promise<void> {
  const log = createLogger('error');
  const worker = await startWorker(
    {
      databaseUrl: process.env['MUSTER_DATABASE_URL'] ?? null,
      schema: 'muster',
      prefix: DEFAULT_PREFIX,
      temporal: { address: flags.temporal, namespace: 'default', connection: {} },
      handlers: [indexCityHandler({ url: flags['index-url'] })],
      callbacks: { allow: [], secret: null },
      logLevel: 'error',
      config: null,
      configNamed: false,
      ownServers: false,
      dev: null,
    },
    { log, shutdownGraceMs: flags['grace-ms'], signal: new AbortController().signal },
  );
  worker.ended.catch((error: unknown) => {
    log.fatal({ err: error }, 'the worker failed');
    process.exit(1);
  });
  onEnd(async () => {
    worker.stop();
    await worker.ended;
  });
  process.stdout.write(`${JSON.stringify({ ready: true, port: 0 })}\n`);
}

runMain(main);
