import { inspect } from 'node:util';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import type { Handler } from '../../../handlers';
import { createPool } from '../../../postgres/pool';
import type { NodeOptions } from '../../../workers/nodeOptions';
import { createNode } from '../../../workers/node';
import { eventually } from '../../helpers/eventually';
import { say } from './post';
import { shortRuns } from '../shortRuns';
import type { Hooks } from '../judge/tap';
import { tapPool } from '../judge/tap';
import { post, settings } from './workerPost';

const LEASE_MS = 5_000;
/** Dispatches end soon: there are many of them in a run. */
export const SOFT_DEADLINE_MS = 5_000;

type ChaosWorkerOptions = Pick<NodeOptions, 'softDeadlineMs' | 'nodes'>;

/**
 * A worker that can be killed at a named point: the product's own node, over a pool and a logger
 * that report where it is.
 */
export const runChaosWorker = async (
  handlers: (downstream: string, worker: number) => Handler[],
  hooks: Hooks,
  options: ChaosWorkerOptions = {},
): Promise<void> => {
  try {
    await run(handlers, hooks, options);
    process.exit(0);
  } catch (error) {
    process.stderr.write(
      `worker ${settings.index}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  }
};

const run = async (
  handlers: (downstream: string, worker: number) => Handler[],
  hooks: Hooks,
  options: ChaosWorkerOptions,
): Promise<void> => {
  const { index, databaseUrl, address, prefix, downstream, bundle } = settings;
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      if (message === 'chaos: continues as new' && post.isArmed('continue-as-new'))
        post.stayStill({ point: 'continue-as-new', live: 0, leaderId: (meta as { leaderId: number }).leaderId });
      else if (level === 'ERROR') process.stderr.write(`${message} ${inspect(meta)}\n`);
    }),
  });
  const pool = tapPool(createPool({ databaseUrl, max: 15, applicationName: `chaos worker ${index}` }), hooks);
  // A victim may begin again while the Temporal server is away too: an installation would start the
  // worker again, so does this one.
  const connection = await eventually(() => NativeConnection.connect({ address }).catch(() => null), {
    timeoutMs: 60_000,
    everyMs: 250,
    what: 'the Temporal server to be back',
  });
  const node = await createNode({
    pool,
    connection,
    namespace: 'default',
    prefix,
    handlers: handlers(downstream, index),
    log: pino({ level: 'warn' }, pino.destination(2)),
    callbacks: { allow: [], secret: null },
    workflowBundle: { codePath: bundle },
    leaseMs: LEASE_MS,
    shutdownGraceMs: 3_000,
    interceptors: { client: shortRuns },
    ...options,
  });
  process.on('SIGTERM', () => node.shutdown());
  const running = node.run();
  say({ ready: true });
  await running;
};
