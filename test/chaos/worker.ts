import { inspect } from 'node:util';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { createPool } from '../../postgres/pool';
import { createNode } from '../../workers/node';
import { eventually } from '../helpers/eventually';
import { chaosHandlers, distinctBatches } from './handlers';
import { Post, say } from './post';
import type { Hooks, Statement } from './tap';
import { tapPool } from './tap';
import { shortRuns } from './shortRuns';

/** A worker that can be killed at a named point: the product's own node, over a pool and a logger that report where it is. */

const { index, databaseUrl, address, prefix, downstream, bundle, runDir } = JSON.parse(process.argv[2]!) as Settings;
export interface Settings {
  index: number;
  databaseUrl: string;
  address: string;
  prefix: string;
  downstream: string;
  bundle: string;
  runDir: string;
}

const LEASE_MS = 5_000;
const post = new Post(runDir);
const count = (json: unknown, of: (row: { seqs: unknown[] }) => number): number =>
  (JSON.parse(json as string) as { seqs: unknown[] }[]).reduce((sum, row) => sum + of(row), 0);

let claimed = 0;
const isClaimCommit = ({ name, transaction }: Statement): boolean =>
  name === 'commit' && (transaction ?? []).includes('insert-batches');
/** Whether keys are still to be freed after this settle. */
const isDistinct = ({ values }: Statement): boolean =>
  (JSON.parse(values[0] as string) as { id: number }[]).some(({ id }) => distinctBatches.has(id));
const lose = (lost: boolean): void => {
  if (lost) throw new Error('Connection terminated unexpectedly');
};

const hooks: Hooks = {
  before: async (statement) => {
    const { name, values } = statement;
    if (name === 'insert-batches') claimed = count(values[0], (row) => row.seqs.length);
    if (name === 'insert-batches' && post.isArmed('before-claim', 0))
      await post.stay({ point: 'before-claim', live: claimed });
    if (isClaimCommit(statement) && post.isArmed('before-claim'))
      await post.stay({ point: 'before-claim', live: claimed });
    if (isClaimCommit(statement) && post.isArmed('backend-terminated', 0))
      await post.stay({ point: 'backend-terminated', live: claimed });
    if (name !== 'settle-succeeded') return;
    const live = count(values[0], () => 1);
    if (post.isArmed('before-settle')) await post.stay({ point: 'before-settle', live });
    if (post.isArmed('backend-terminated', 1)) await post.stay({ point: 'backend-terminated', live });
  },
  after: async (statement) => {
    const { name, rows } = statement;
    if (isClaimCommit(statement) && post.isArmed('after-claim'))
      await post.stay({ point: 'after-claim', live: claimed });
    if (isClaimCommit(statement) && post.isArmed('backend-terminated', 2))
      lose(await post.stay({ point: 'backend-terminated', live: claimed }));
    if (name === 'mark-attempts' && rows > 0 && post.isArmed('before-call'))
      await post.stay({ point: 'before-call', live: rows });
    if (name !== 'settle-succeeded' || rows === 0) return;
    if (post.isArmed('after-settle') && (post.isArmed('after-settle', 0) || isDistinct(statement)))
      await post.stay({ point: 'after-settle', live: rows });
    if (post.isArmed('backend-terminated', 3)) lose(await post.stay({ point: 'backend-terminated', live: rows }));
  },
};

const main = async (): Promise<void> => {
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      if (message === 'chaos: continues as new' && post.isArmed('continue-as-new'))
        post.stayStill({ point: 'continue-as-new', live: 0, leaderId: (meta as { leaderId: number }).leaderId });
      else if (level === 'ERROR') process.stderr.write(`${message} ${inspect(meta)}\n`);
    }),
  });
  const pool = tapPool(createPool({ databaseUrl, max: 15, applicationName: `chaos worker ${index}` }), hooks);
  // A victim may begin again while the Temporal server is away too: an installation would start the worker again, so does this one.
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
    handlers: chaosHandlers(downstream, index),
    log: pino({ level: 'warn' }, pino.destination(2)),
    callbacks: { allow: [], secret: null },
    workflowBundle: { codePath: bundle },
    leaseMs: LEASE_MS,
    shutdownGraceMs: 3_000,
  });
  node.deps.temporal = new Client({ connection, namespace: 'default', interceptors: shortRuns });
  process.on('SIGTERM', () => node.shutdown());
  const running = node.run();
  say({ ready: true });
  await running;
};

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(
      `worker ${index}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  },
);
