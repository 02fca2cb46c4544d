import { join } from 'node:path';
import { createClient } from '../../client';
import type { Client } from '../../client';
import { startChild } from '../support/child';
import type { Cleanup } from '../support/cleanup';
import { numberFlag, processFlags, seedFlag, switchFlag } from '../support/flags';
import { seededRandom } from '../support/random';
import { runTrial, startServers } from '../support/trial';
import type { Account } from './book';
import { Crew } from './crew';
import { fleetHandler, HANDLER } from './handler';
import { Screen } from './picture';
import { SCENES, Scenes } from './scenes';
import { LEASE_MS } from './settings';
import { describe, isGood, longestOf, staleOf } from './verdict';
import type { Result } from './verdict';
import { Watch } from './watch';

/**
 * Nodes that join, leave, are drained, blocked, killed and stopped while tasks arrive: who holds
 * what, and whether anything was done twice (B1-B18).
 */
const flags = processFlags(
  {
    name: 'npm run example:fleet --',
    summary:
      'Partitions over nodes that join, leave, are drained, blocked, killed and stopped while tasks arrive; a downstream that looks at epochs writes everything down.',
    result:
      'Who holds what goes to stderr, the tables to stdout. Exit code 1 if more moved than had to, or anything was processed twice, lost, or accepted from a node that had lost its partition.',
    examples: ['--nodes 5 --partitions 64 --minutes 2', '--nodes 3 --partitions 16 --minutes 0 --block-ms 4000 --json'],
  },
  {
    nodes: numberFlag(5, { text: 'node processes at the start', min: 2, max: 16 }),
    partitions: numberFlag(64, { text: 'partitions of the handler', min: 1, max: 1_024 }),
    minutes: numberFlag(2, { text: 'how long things happen, in minutes; 0: each kind of thing once', unit: 'min' }),
    'tasks-per-s': numberFlag(100, { text: 'tasks submitted a second', min: 1, max: 10_000 }),
    'lease-ms': numberFlag(LEASE_MS, {
      text: 'lease of a partition, in milliseconds',
      min: 1_000,
      max: 15_000,
      unit: 'ms',
    }),
    'block-ms': numberFlag(10_000, {
      text: 'how long a blocked node hangs, in milliseconds; below 30 s',
      min: 1,
      max: 25_000,
      unit: 'ms',
    }),
    seed: seedFlag(1),
    json: switchFlag('one line of JSON on stdout in place of the tables'),
  },
);

async function run(cleanup: Cleanup): Promise<Result> {
  const { client, crew, gate } = await startStack(cleanup);
  const watch = new Watch(client.pool, crew.isAway);
  watch.start();
  cleanup.add('watch', () => watch.stop());
  const startedAt = performance.now();
  const news: string[] = [];
  const say = (line: string): void =>
    void (
      news.length >= 8 && news.shift(),
      news.push(`${seconds(startedAt)} s  ${line}`),
      process.stderr.isTTY || process.stderr.write(`${news.at(-1)}\n`)
    );
  const feed = new Feed(client, seededRandom(flags.seed + 1));
  const screen = new Screen();
  const drawing = setInterval(
    () =>
      screen.show({
        seconds: seconds(startedAt),
        members: crew.all,
        leases: watch.last.leases,
        moves: watch.moves,
        submitted: feed.ids.length,
        news,
      }),
    500,
  );
  cleanup.add('picture', async () => clearInterval(drawing));
  cleanup.add('tasks', () => feed.stop());
  const random = seededRandom(flags.seed);
  const epochs = async () => (await (await fetch(`${gate}/epochs`)).json()) as Record<string, number>;
  const scenes = new Scenes({ client, crew, watch, random, epochs, blockMs: flags['block-ms'], say });
  await Promise.all(Array.from({ length: flags.nodes }, () => crew.join()));
  feed.start();
  await scenes.begin();
  do for (const scene of shuffled(SCENES, random)) await scenes.play(scene);
  while (performance.now() - startedAt < flags.minutes * 60_000);
  await feed.stop();
  clearInterval(drawing);
  say(`${feed.ids.length} tasks submitted; waits for their ends`);
  await client.waitFor(feed.ids, { timeoutMs: 120_000 });
  const account = (await (await fetch(`${gate}/account`)).json()) as Account;
  return resultOf({ client, crew, watch, scenes, ids: feed.ids, account, tookS: Number(seconds(startedAt)) });
}

const seconds = (since: number): string => ((performance.now() - since) / 1_000).toFixed(1);

const shuffled = <T>(items: readonly T[], random: () => number): T[] =>
  items
    .map((item) => [random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);

/** Twice a second some tasks, to sensors by chance; goes on until it is stopped. */
class Feed {
  readonly ids: string[] = [];
  private stopped = false;
  private running: Promise<void> = Promise.resolve();
  constructor(
    private readonly client: Client,
    private readonly random: () => number,
  ) {}

  start(): void {
    this.running = this.run();
  }
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async run(): Promise<void> {
    const each = Math.max(1, Math.round(flags['tasks-per-s'] / 2));
    while (!this.stopped) {
      const sensor = (): string => `sensor-${Math.floor(this.random() * flags.partitions * 4)}`;
      const tasks = Array.from({ length: each }, (_, i) => ({
        id: `task-${this.ids.length + i}`,
        payload: { sensor: sensor() },
      }));
      await this.client.submit(HANDLER, tasks);
      this.ids.push(...tasks.map(({ id }) => id));
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

async function startStack(cleanup: Cleanup) {
  const { databaseUrl, temporal } = await startServers(cleanup);
  const gate = await startChild(join(__dirname, 'gate.js'), []);
  cleanup.add('gate', () => gate.stop());
  const { partitions } = flags;
  const handlers = [fleetHandler({ url: gate.url, partitions, node: 'client', workMs: 0 })];
  const client = createClient({ databaseUrl, handlers, temporal: { address: temporal } });
  cleanup.add('client', () => client.close());
  const args = [
    '--temporal',
    temporal,
    '--gate-url',
    gate.url,
    '--partitions',
    String(partitions),
    '--block-ms',
    String(flags['block-ms']),
    '--lease-ms',
    String(flags['lease-ms']),
  ];
  const crew = new Crew({ pool: client.pool, args, env: { MUSTER_DATABASE_URL: databaseUrl }, cleanup });
  return { client, crew, gate: gate.url };
}

const resultOf = async (facts: {
  client: Client;
  crew: Crew;
  watch: Watch;
  scenes: Scenes;
  ids: readonly string[];
  account: Account;
  tookS: number;
}): Promise<Result> => {
  const { client, crew, watch, scenes, ids, account, tookS } = facts;
  const [status] = await client.status(HANDLER);
  const { ok } = await client.verify({ full: true });
  const holderOf = (partition: string, epoch: number): string | null => {
    const id = watch.holders.get(`${partition}/${epoch}`);
    return id === undefined ? null : crew.labelOf(id);
  };
  const processed = new Set(account.tasks);
  const sum = (of: 'moves' | 'fewest'): number => scenes.changes.reduce((all, change) => all + change[of], 0);
  return {
    nodes: flags.nodes,
    partitions: flags.partitions,
    seconds: tookS,
    scenes: scenes.counts,
    changes: scenes.changes,
    moves: sum('moves'),
    fewest: sum('fewest'),
    submitted: ids.length,
    succeeded: status!.counts.succeeded,
    processed: processed.size,
    twice: account.twice.length,
    repeats: account.repeats,
    staleRefused: account.refused.length,
    staleAccepted: staleOf(account.writes, holderOf).length,
    leaseMs: flags['lease-ms'],
    evenAfterJoinMs: longestOf(scenes.changes, 'join'),
    evenAfterLossMs: longestOf(scenes.changes, 'loss'),
    longestFreeMs: watch.longestFreeMs,
    longestUnservedMs: watch.longestUnservedMs,
    isAccounted:
      status!.identityHolds === true &&
      status!.accepted === ids.length &&
      status!.counts.succeeded === ids.length &&
      processed.size === ids.length &&
      ids.every((id) => processed.has(id)),
    isWhole: ok,
  };
};

runTrial({ run, describe, json: flags.json, isGood });
