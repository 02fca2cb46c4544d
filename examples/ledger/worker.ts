import { DEFAULT_PREFIX } from '../../workflows/naming';
import { createLogger } from '../../workers/logging';
import { startWorker } from '../../workers/process';
import type { LaneRules } from '../../activities/handlers';
import { numberFlag, processFlags, textFlag } from '../support/flags';
import { onEnd, runMain } from '../support/server';
import { ledgerHandler } from './handler';

/** A worker process of the example, with every setting from `run.ts`. The database's address comes from the environment: it holds a password. */
const flags = processFlags({
  temporal: textFlag('localhost:7233'),
  'ledger-url': textFlag('http://127.0.0.1:4466'),
  approach: textFlag('serial'),
  'grace-ms': numberFlag(5_000),
});

async function main(): Promise<void> {
  const log = createLogger('error');
  const handler = ledgerHandler({ url: flags['ledger-url'], approach: flags.approach as LaneRules['approach'] });
  const worker = await startWorker(
    {
      databaseUrl: process.env['MUSTER_DATABASE_URL'] ?? null,
      schema: 'muster',
      prefix: DEFAULT_PREFIX,
      temporal: { address: flags.temporal, namespace: 'default', connection: {} },
      handlers: [handler],
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
