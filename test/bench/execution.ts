import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { DEFAULT_EXECUTION_SETTINGS } from '../../activities/executions/settings';
import { defineFunction } from '../../handlers/functions';
import { createClient } from '../../client';
import { createStore } from '../../examples/support/database';
import { numberFlag, numbersFlag, processFlags, switchFlag } from '../../examples/support/flags';
import { createPool } from '../../postgres/pool';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { createNode } from '../../workers/node';
import { executionWorkflowId } from '../../workflows/naming';
import { actionsOf } from '../workflows/histories';
import { runToEnd } from '../helpers/runToEnd';

/**
 * `npm run bench:execution -- --items 20000`: what an execution costs over calling its function
 * directly, an item, at 1, 4 and 16 nodes; how many chunks a second; how many Temporal actions an
 * item; how much memory client and nodes need meanwhile. All nodes are in this process and on its
 * cores: more nodes bring more chunks, not more power.
 */
const flags = processFlags(
  {
    name: 'npm run bench:execution --',
    summary:
      'What an execution costs over calling its function directly: microseconds and Temporal actions an item, chunks a second. All nodes are in this process and on its cores.',
    result: 'A table on stdout, a line of JSON a measure on stderr. Exit code 1 if it could not be measured.',
    examples: ['', '--items 2000 --nodes 1,4 --json'],
  },
  {
    items: numberFlag(20_000, { text: 'items of an execution', min: 1 }),
    chunks: numberFlag(20, { text: 'executions of one item a node, for chunks a second', min: 1 }),
    nodes: numbersFlag([1, 4, 16], { text: 'how many nodes, one measure each; from few to many', min: 1 }),
    json: switchFlag('one line of JSON on stdout in place of the table'),
  },
);
const { items, chunks: rounds } = flags;
/** Of this process: the client and all nodes. */
let peakBytes = 0;
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Some microseconds of work, the same whoever calls it. */
const echo = (args: readonly string[]): string => args.join(' ').toUpperCase();
/** Of the nodes. */
let calls = 0;
/** Never all at once: a list of a million is read, stored and run in parts. */
function* lists(n: number): Generator<string[]> {
  for (let i = 0; i < n; i++) yield ['--id', String(i), `item-${i}`];
}

const directly = async (): Promise<number> => {
  const begun = performance.now();
  let length = 0;
  for (const args of lists(items)) length += (await Promise.resolve(echo(args))).length;
  if (length === 0) throw new Error('nothing was run');
  return performance.now() - begun;
};

const main = async (): Promise<void> => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const [postgres, temporal] = await Promise.all([startPostgres(), startTemporalDev({ ui: false })]);
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const databaseUrl = await createStore(postgres.url, 'bench');
    const client = createClient({ databaseUrl, temporal: { address: temporal.address }, prefix: 'bench' });
    stops.push(() => client.close());
    const directMs = await directly();
    setInterval(() => (peakBytes = Math.max(peakBytes, process.memoryUsage.rss())), 100).unref();
    const results = [];
    let running = 0;
    for (const nodes of flags.nodes) {
      for (; running < nodes; running++) stops.unshift(await startNode(databaseUrl, temporal.address));
      results.push(await measure(client, nodes, directMs));
      say(JSON.stringify(results.at(-1)));
    }
    if (flags.json)
      process.stdout.write(`${JSON.stringify({ items, directMicrosAnItem: micros(directMs), results })}\n`);
    else console.table(results);
  } finally {
    for (const stop of stops) await stop();
    await Promise.all([postgres.stop(), temporal.stop()]);
  }
};

const micros = (ms: number): number => Number(((ms * 1_000) / items).toFixed(2));

const measure = async (client: ReturnType<typeof createClient>, nodes: number, directMs: number) => {
  const template = { functionId: 'echo', method: 'run', config: { numberOfNodes: nodes } };
  const warm = await client.execute(template, lists(nodes * 10));
  await warm.wait();
  const idleBytes = process.memoryUsage.rss();
  peakBytes = idleBytes;
  calls = 0;
  const begun = performance.now();
  const execution = await client.execute(template, lists(items));
  const acceptedMs = performance.now() - begun;
  await execution.wait();
  const ms = performance.now() - begun;
  const called = calls;
  const grownMb = Math.round((peakBytes - idleBytes) / 2 ** 20);
  const temporal = await client.temporal();
  const handle = temporal.workflow.getHandle(executionWorkflowId('bench', execution.id));
  await handle.result();
  const actions = actionsOf((await handle.fetchHistory()).events ?? []);
  // Chunks of one item: what a chunk costs by itself.
  const begunChunks = performance.now();
  const small = await Promise.all(Array.from({ length: rounds }, () => client.execute(template, lists(nodes))));
  for (const one of small) await one.wait();
  const chunksMs = performance.now() - begunChunks;
  return {
    nodes,
    items,
    calls: called,
    'accepted, us an item': micros(acceptedMs),
    'in all, us an item': micros(ms),
    'overhead, us an item': micros(ms - directMs),
    'items a second': Math.round(items / (ms / 1_000)),
    'memory at most, MB above idle': grownMb,
    'chunks a second': Number(((rounds * nodes) / (chunksMs / 1_000)).toFixed(1)),
    actions,
    'actions an item': Number((actions / items).toFixed(6)),
  };
};

const startNode = async (databaseUrl: string, address: string): Promise<() => Promise<void>> => {
  const pool = createPool({ databaseUrl, max: 6 });
  const connection = await NativeConnection.connect({ address });
  const node = await createNode({
    pool,
    connection,
    namespace: 'default',
    prefix: 'bench',
    handlers: [],
    log: pino({ level: 'silent' }),
    callbacks: { allow: [], secret: null },
    executions: {
      ...DEFAULT_EXECUTION_SETTINGS,
      serves: true,
      functions: new Map([['echo', defineFunction({ name: 'echo', run: (args) => (calls++, echo(args)) })]]),
    },
    sweepEveryMs: 0,
  });
  const running = node.run();
  return async () => {
    node.shutdown();
    await running;
    await connection.close();
    await pool.end();
  };
};

runToEnd(main);
