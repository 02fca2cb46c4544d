import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../../client';
import type { Client } from '../../../client';
import { numberFlag, processFlags, seedFlag } from '../../../examples/support/flags';
import { isRetryable } from '../../../postgres/errors';
import { Stack } from './stack';
import { runToEnd } from '../../helpers/runToEnd';

/**
 * `npm run test:execution -- --items 20000 --kills 40 --seed 1`: an execution under kills of nodes
 * (each also leads executions), of Postgres and of Temporal, and of nodes that are stopped past
 * their lease and wake. Then every item must be 100 or -2, no attempt above the limit or uncounted
 * by a run or a loss, and no result may stand under a chunk of another node than that which ran
 * it.
 */
const { items, kills, nodes, seed } = processFlags(
  {
    name: 'npm run test:execution --',
    summary:
      'An execution under kills of nodes, of Postgres and of Temporal, and of nodes that are stopped past their lease and wake; then every item and every attempt is accounted for.',
    result: 'One line of JSON on stdout, progress on stderr. Exit code 1 if anything is wrong.',
    examples: ['', '--items 1500 --kills 6 --nodes 3 --seed 3'],
  },
  {
    items: numberFlag(20_000, { text: 'items of the execution', min: 1 }),
    kills: numberFlag(40, { text: 'kills, every tenth of Postgres, every tenth of Temporal; 0: nobody is killed' }),
    nodes: numberFlag(4, { text: 'node processes; one is always left up', min: 2 }),
    seed: seedFlag(1),
  },
);
const MAX_ATTEMPTS = 3;
const say = (line: string): void => void process.stderr.write(`${line}\n`);

let state = seed >>> 0;
const random = (): number => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
};
const kindOf = (i: number): string => (i % 100 === 7 ? 'fails' : i % 10 === 3 ? 'flaky' : 'ok');

const main = async (): Promise<boolean> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-execution-chaos-'));
  const stack = await Stack.start(folder, nodes);
  const client = createClient({
    databaseUrl: stack.databaseUrl,
    prefix: stack.prefix,
    temporal: { address: stack.address },
  });
  try {
    const lists = Array.from({ length: items }, (_, i) => [kindOf(i), String(i)]);
    const execution = await client.execute({ functionId: 'work', method: 'run' }, lists, { maxAttempts: MAX_ATTEMPTS });
    const begun = performance.now();
    const struck = { node: 0, freeze: 0, postgres: 0, temporal: 0 };
    const killing = strike(stack, client, execution.id, struck);
    await ended(client, execution.id);
    await killing;
    const report = await judge(client, execution.id, stack.runs, struck);
    const passed = Object.values(report.wrong).every((one) => one === 0) && (await verified(client));
    process.stdout.write(
      `${JSON.stringify({ passed, items, seconds: Math.round((performance.now() - begun) / 1_000), struck, ...report })}\n`,
    );
    return passed;
  } finally {
    await client.close();
    await stack.stop();
    if (existsSync(path.join(folder, 'node.log')))
      say(readFileSync(path.join(folder, 'node.log'), 'utf8').slice(-1_000));
    rmSync(folder, { recursive: true, force: true });
  }
};

/** The first strikes: with fewer kills than ten, chance would leave a kind out. */
const FIRST = ['node', 'freeze', 'postgres', 'temporal'] as const;
type Kind = (typeof FIRST)[number];
const kindOfStrike = (n: number): Kind =>
  FIRST[n - 1] ?? (n % 10 === 5 ? 'postgres' : n % 10 === 0 ? 'temporal' : random() < 0.3 ? 'freeze' : 'node');

/** One after the other, spread over the work: each kind first, then a server every tenth time. */
const strike = async (stack: Stack, client: Client, id: string, struck: Record<Kind, number>): Promise<void> => {
  const going: Promise<unknown>[] = [];
  for (let n = 1; n <= kills && !(await isOver(client, id)); n++) {
    await sleep(300 + random() * 700);
    const what = kindOfStrike(n);
    if (what === 'postgres') await stack.restartPostgres(200 + random() * 1_500);
    else if (what === 'temporal') await stack.restartTemporal(200 + random() * 1_500);
    else {
      const up = stack.nodes.filter((node) => node.isUp());
      if (up.length < 2) {
        n--;
        continue;
      }
      const node = up[Math.floor(random() * up.length)]!;
      const done = what === 'freeze' ? node.freeze(4_000 + random() * 3_000) : node.kill(random() * 1_000);
      // Counted when it is over; the next one strikes meanwhile.
      going.push(done.then(() => struck[what]++).catch(() => undefined));
      continue;
    }
    struck[what]++;
  }
  await Promise.all(going);
};

const retried = async <T>(work: () => Promise<T>): Promise<T> => {
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error) && (error as { code?: string }).code !== 'DATABASE_UNAVAILABLE') throw error;
      await sleep(200);
    }
};
const isOver = async (client: Client, id: string): Promise<boolean> =>
  (await retried(() => client.execution(id).progress())).share === 1;

const ended = async (client: Client, id: string): Promise<void> => {
  const until = performance.now() + 480_000;
  for (let said = -1; ;) {
    const { share, counts } = await retried(() => client.execution(id).progress());
    if (share === 1) return;
    if (Math.floor(share * 10) > said) say(`${Math.floor(share * 100)} %: ${JSON.stringify(counts)}`);
    said = Math.floor(share * 10);
    if (performance.now() > until)
      throw new Error(`not done: ${JSON.stringify(await retried(() => client.execution(id).status()))}`);
    await sleep(100);
  }
};

const judge = async (client: Client, id: string, runsFile: string, struck: Readonly<Record<Kind, number>>) => {
  const ran = new Int32Array(items);
  for (const line of readFileSync(runsFile, 'utf8').split('\n')) if (line !== '') ran[Number(line.split(' ')[1])]!++;
  const wrong = { state: 0, attempts: 0, unrun: 0, foreign: 0 };
  let seen = 0;
  const nodes = new Map(
    (
      await client.pool.query<{ id: string; node_id: string; state: number }>(
        'select id, node_id, state from chunk where execution_id = $1',
        [id],
      )
    ).rows.map((row) => [row.id, row]),
  );
  for await (const { position, state, attempts, chunk, stdout } of client.execution(id).items(5_000)) {
    const kind = kindOf(position);
    const expected =
      kind === 'ok' ? ['done'] : kind === 'fails' ? ['permanently-failed'] : ['done', 'permanently-failed'];
    if (position !== seen++ || !expected.includes(state)) wrong.state++;
    if (attempts > MAX_ATTEMPTS || (state === 'permanently-failed' && attempts !== MAX_ATTEMPTS)) wrong.attempts++;
    if (ran[position]! < attempts) wrong.unrun++;
    // A result that a closed chunk's node wrote would stand under the chunk of another.
    if (nodes.get(chunk!)?.node_id.split('-').at(-2) !== stdout) wrong.foreign++;
  }
  if (seen !== items) wrong.state++;
  // A node may be lost between the announcement of an item and its run: that counts as one.
  wrong.unrun = Math.max(0, wrong.unrun - struck.node - struck.freeze);
  const runs = ran.reduce((sum, n) => sum + n, 0);
  const closed = [...nodes.values()].filter((row) => row.state === -1).length;
  return { wrong, runs, chunks: nodes.size, chunksClosed: closed };
};

const verified = async (client: Client): Promise<boolean> => {
  const broken = (await client.verify({ full: true })).checks.filter(({ violations }) => violations.length > 0);
  for (const check of broken) say(JSON.stringify(check));
  return broken.length === 0;
};

runToEnd(main);
