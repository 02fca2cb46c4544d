import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore } from '../../../examples/support/database';
import { numberFlag, processFlags } from '../../../examples/support/flags';
import type { Client } from '../../../client';
import { createClient, MusterError } from '../../../client';
import { startPostgres, startTemporalDev } from '../../../workers/embedded';
import type { CliProcess } from '../../cli/process';
import { startCli } from '../../cli/process';
import type { Downstream } from './downstream';
import { LIMITED, startDownstream } from './downstream';
import type { Figures } from './figures';
import { costOfBurst, figuresOf } from './figures';
import { handlers } from './handlers';
import { BESIDE, ITEMS, URL_VARIABLE } from './shape';

/** `npm run bench:overload`: ten times what a downstream takes, and bursts of refusals. */

const flags = processFlags(
  {
    name: 'npm run bench:overload --',
    summary: 'Offers ten times what a downstream takes, kills a worker in the middle; then bursts of refusals.',
    result:
      'One line of JSON: goodput, latency of the handler beside it, memory, cost of a burst. Exit code 1 if a task came twice.',
    examples: ['', '--seconds 600 --per-second 20'],
  },
  {
    seconds: numberFlag(120, { text: 'how long it is offered too much', unit: 's', min: 10 }),
    'per-second': numberFlag(10, { text: `calls of ${ITEMS} tasks that the downstream takes per second`, min: 1 }),
    times: numberFlag(10, { text: 'how many times of that is offered', min: 1 }),
    burst: numberFlag(400, { text: 'how long all calls are refused then', unit: 'ms', min: 1 }),
  },
);

const PREFIX = 'overload';
const BESIDE_EVERY_MS = 50;
const OFFER_EVERY_MS = 100;
const TARGETS = 20;
const WARM_UP_MS = 5_000;
/** What a killed worker had goes on within this time; who submits then is looked at apart. */
const AROUND_KILL_MS = 20_000;
/** Before the burst, and after it. */
const BURST_WINDOW_MS = 10_000;
const say = (line: string): void => void process.stderr.write(`${line}\n`);

interface Rig {
  client: Client;
  env: Record<string, string>;
  downstream: Downstream;
}

const startWorker = async (env: Record<string, string>): Promise<CliProcess> => {
  const config = path.join(process.cwd(), 'dist', 'test', 'bench', 'overload', 'handlers.js');
  const bin = path.resolve('bin/muster.js');
  const started = startCli(['worker', '--config', config], { cwd: process.cwd(), bin, env });
  await started.says(/"msg":"ready"/);
  return started;
};

const memoryMb = ({ child }: CliProcess): number => {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
};

/** Submits `n` tasks per round until `isDone`; counts those for which there was no room. */
const offer = async ({ client }: Rig, handler: string, n: number, everyMs: number, isDone: () => boolean) => {
  const counts = { accepted: 0, refused: 0, sentAt: new Map<string, number>() };
  for (let round = 0; !isDone(); round++) {
    const begun = performance.now();
    const tasks = Array.from({ length: n }, (_, i) => ({
      id: `${handler}-${begun}-${round}-${i}`,
      payload: { to: `t${(round * n + i) % TARGETS}` },
    }));
    for (const { id } of tasks) counts.sentAt.set(id, begun);
    try {
      await client.submit(handler, tasks);
      counts.accepted += n;
    } catch (error) {
      if (!(error instanceof MusterError) || error.code !== 'BACKLOGGED') throw error;
      counts.refused += n;
    }
    await sleep(Math.max(0, everyMs - (performance.now() - begun)));
  }
  return counts;
};

interface Overloaded extends Figures {
  accepted: number;
  /** Tasks that `maxQueued` refused. */
  withoutRoom: number;
  callsRefused: number;
}

const overloaded = async (rig: Rig): Promise<Overloaded> => {
  const { seconds, times, 'per-second': perSecond } = flags;
  const workers = [await startWorker(rig.env), await startWorker(rig.env)];
  let isDone = false;
  const beside = offer(rig, BESIDE, 1, BESIDE_EVERY_MS, () => isDone);
  await sleep(WARM_UP_MS);
  const calm = performance.now();
  await sleep(Math.min(30, seconds) * 1_000);
  const from = performance.now();
  const to = from + seconds * 1_000;
  const perRound = Math.round((perSecond * ITEMS * times * OFFER_EVERY_MS) / 1_000);
  const limited = offer(rig, LIMITED, perRound, OFFER_EVERY_MS, () => performance.now() >= to);
  const memory: number[] = [];
  let killedAt = Infinity;
  while (performance.now() < to) {
    memory.push(workers.reduce((sum, worker) => sum + memoryMb(worker), 0));
    if (killedAt === Infinity && performance.now() > from + (to - from) / 2) {
      killedAt = performance.now();
      say('a worker is killed');
      workers[0]!.child.kill('SIGKILL');
      await workers[0]!.exit;
      workers[0] = await startWorker(rig.env);
    }
    await sleep(1_000);
  }
  isDone = true;
  const [offered, { sentAt }] = await Promise.all([limited, beside]);
  const { applied } = rig.downstream;
  const tookMs = (since: number, until: number): number[] =>
    applied.flatMap(({ id, handler, at }) => {
      const sent = handler === BESIDE ? sentAt.get(id)! : -1;
      return sent >= since && sent < until ? [at - sent] : [];
    });
  const figures = figuresOf({
    perSecond,
    items: ITEMS,
    from,
    to,
    applied: applied.filter(({ handler }) => handler === LIMITED),
    besideBefore: tookMs(calm, from),
    besideWithin: [...tookMs(from, killedAt - AROUND_KILL_MS), ...tookMs(killedAt + AROUND_KILL_MS, to)],
    besideKill: tookMs(killedAt - AROUND_KILL_MS, killedAt + AROUND_KILL_MS),
    memoryMb: memory,
  });
  await stop(workers);
  const { accepted, refused } = offered;
  return { ...figures, accepted, withoutRoom: refused, callsRefused: rig.downstream.refused };
};

/** One handler at its own speed, and one burst in which every call is refused. */
const burst = async (rig: Rig): Promise<number> => {
  const worker = await startWorker(rig.env);
  let isDone = false;
  const offered = offer(rig, LIMITED, 10 * ITEMS, OFFER_EVERY_MS, () => isDone);
  await sleep(WARM_UP_MS);
  const from = performance.now();
  await sleep(BURST_WINDOW_MS);
  const begun = performance.now();
  rig.downstream.refuseUntil(begun + flags.burst);
  await sleep(flags.burst + BURST_WINDOW_MS);
  isDone = true;
  await offered;
  await stop([worker]);
  const before = { from, to: begun };
  return costOfBurst(rig.downstream.applied, { endedAt: begun + flags.burst, before, ms: BURST_WINDOW_MS });
};

const stop = async (workers: readonly CliProcess[]): Promise<void> => {
  for (const { child } of workers) child.kill('SIGKILL');
  await Promise.all(workers.map(({ exit }) => exit));
};

const run = async (): Promise<void> => {
  const [postgres, temporal] = await Promise.all([startPostgres(), startTemporalDev({ ui: false })]);
  const open = async (name: string, perSecond: number): Promise<Rig> => {
    const databaseUrl = await createStore(postgres.url, name);
    const downstream = await startDownstream(perSecond);
    const env = {
      MUSTER_DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: temporal.address,
      MUSTER_PREFIX: `${PREFIX}-${name}`,
      [URL_VARIABLE]: downstream.url,
    };
    const client = createClient({ databaseUrl, handlers, prefix: env.MUSTER_PREFIX, temporal });
    return { client, env, downstream };
  };
  const close = async ({ client, downstream }: Rig): Promise<void> => {
    await client.close();
    await downstream.close();
  };
  try {
    const first = await open('overload', flags['per-second']);
    const figures = await overloaded(first);
    await close(first);
    const second = await open('burst', Infinity);
    const burstCost = await burst(second);
    await close(second);
    process.stdout.write(`${JSON.stringify({ ...figures, burstCost })}\n`);
    if (figures.doubled > 0) process.exitCode = 1;
  } finally {
    await Promise.all([temporal.stop(), postgres.stop()]);
  }
};

run().then(
  () => process.exit(),
  (error: unknown) => {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  },
);
