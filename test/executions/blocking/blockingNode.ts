import { appendFileSync } from 'node:fs';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { createPool } from '../../../postgres/pool';
import { createNode } from '../../../workers/node';
import { functionsOf } from '../functions';

/** A node's process with a function that blocks it: the product's own, as a user may write one. */

export interface BlockingSettings {
  databaseUrl: string;
  address: string;
  prefix: string;
  runs: string;
  leaseMs: number;
  timeoutMs: number;
}
const settings = JSON.parse(process.argv[2]!) as BlockingSettings;

/** Blocks for so many milliseconds, or without end; or takes its process down. */
const block = ([ms]: readonly string[], { position }: { position: number }): string => {
  appendFileSync(settings.runs, `${position}\n`);
  if (ms === 'kill') process.kill(process.pid, 'SIGKILL');
  // Stands still without using up a core, which the other nodes of the test need.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms === 'for-ever' ? Infinity : Number(ms));
  return String(process.pid);
};

const main = async (): Promise<void> => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { databaseUrl, address, prefix, leaseMs, timeoutMs } = settings;
  const node = await createNode({
    pool: createPool({ databaseUrl, max: 5, applicationName: 'blocking node' }),
    connection: await NativeConnection.connect({ address }),
    namespace: 'default',
    prefix,
    handlers: [],
    log: pino({ level: 'silent' }),
    callbacks: { allow: [], secret: null },
    executions: { ...functionsOf({ block }), leaseMs, timeoutMs, maxLosses: 2, retryBaseMs: 10, rollCallMs: 500 },
    nodes: { maxLeaseMs: 10_000 }, // how long a sign of life comes from a process that hangs
    sweepEveryMs: 0,
  });
  const running = node.run();
  process.stdout.write('{"ready":true}\n');
  await running;
};

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
