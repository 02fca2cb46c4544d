import { NativeConnection } from '@temporalio/worker';
import pino from 'pino';
import { createStore } from '../../../examples/support/database';
import { numberFlag, processFlags } from '../../../examples/support/flags';
import { OutcomeMeters } from '../../../activities/outcomes/meters';
import { OutcomeMinutes } from '../../../activities/outcomes/minutes';
import { Outcomes } from '../../../activities/outcomes/outcomes';
import { Tally } from '../../../activities/outcomes/tally';
import { createClient } from '../../../client';
import { defineHandler } from '../../../handlers';
import { registerHandler } from '../../../postgres/grouping/handler';
import { addOutcomes } from '../../../postgres/outcomes/minute';
import type { Pool } from '../../../postgres/pool';
import { createPool } from '../../../postgres/pool';
import { installRuntime } from '../../../workers/logging';
import type { Node } from '../../../workers/node';
import { createNode } from '../../../workers/node';
import { startServers } from '../../../workers/testing/servers';
import { CALL_OUTCOMES, ENDS } from '../../../workflows/planning/outcomes/kinds';
import { median } from '../report/optimum';

/**
 * `npm run bench:outcomes`: what counting and logging of outcomes costs a worker. All of it runs in
 * this process, which its processor time is of.
 */
const flags = processFlags(
  {
    name: 'npm run bench:outcomes --',
    summary:
      'What it costs a worker to count and log outcomes: per call, per write, and with it and without, in turns.',
    result: 'One line of JSON. Exit code 1 if a task takes 2 % more processor time with outcomes than without.',
    examples: ['', '--tasks 4000 --rounds 2'],
  },
  {
    tasks: numberFlag(20_000, { text: 'tasks of a round', min: 100 }),
    items: numberFlag(20, { text: 'tasks per call', min: 1, max: 10_000 }),
    rounds: numberFlag(10, { text: 'rounds with, and as many without', min: 1 }),
  },
);
/** As many tasks as a call of the client takes. */
const PER_CALL = 10_000;
const CALLS = 200_000;
const WRITES = 200;
const HANDLERS = 20;
const WRITE_EVERY_MS = 5_000;
const MOST_SHARE = 0.02;

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** Returns microseconds of processor time per call of 100 tasks. */
const perCallUs = (): number => {
  const outcomes = new Outcomes(new OutcomeMeters(['jobs']), pino({ level: 'info' }, { write: () => undefined }));
  const members = Array.from({ length: 100 }, (_, i) => ({ id: `task-${i}` }));
  const call = { batch: { id: 1, handler: 'jobs', target: 'lund', reason: 0 }, attempt: 1, members };
  const one = (): void => {
    outcomes.called(call, { kind: 'results' }, 30);
    const tally = new Tally();
    tally.count('succeeded', members.length);
    outcomes.settled(call, { written: true, kind: 'finish' }, tally);
  };
  for (let i = 0; i < CALLS / 10; i++) one();
  const begun = cpuMs();
  for (let i = 0; i < CALLS; i++) one();
  return ((cpuMs() - begun) * 1_000) / CALLS;
};

const counted = (name: string) =>
  defineHandler({ name, target: () => 'a', limits: { maxItems: 1 }, submit: async () => ({ results: [] }) });

/** Returns how long one write of the counts of many handlers takes, and its processor time here. */
const perWrite = async (pool: Pool): Promise<{ ms: number; cpuMs: number }> => {
  const names = Array.from({ length: HANDLERS }, (_, i) => `counted-${i}`);
  for (const name of names) await registerHandler(pool, counted(name));
  const minutes = new OutcomeMinutes();
  const count = (): void => {
    for (const handler of names) {
      minutes.called({ handler, outcome: CALL_OUTCOMES[0], ms: 30, tasks: 100, reason: 0 });
      minutes.ended(handler, new Map([[ENDS[0], 100]]));
    }
  };
  const times: number[] = [];
  const begun = cpuMs();
  for (let i = 0; i < WRITES; i++) {
    count();
    const at = performance.now();
    await addOutcomes(pool, minutes.take());
    times.push(performance.now() - at);
  }
  return { ms: median(times), cpuMs: (cpuMs() - begun) / WRITES };
};

/** Takes the outcomes of a node away from what settles its calls, or gives them back. */
const switchOf = ({ deps }: Node): ((on: boolean) => void) => {
  const homes = Object.values(deps.homes) as { outcomes: unknown }[];
  const { outcomes } = deps;
  return (on) => {
    for (const home of homes) home.outcomes = on ? outcomes : undefined;
  };
};

const main = async (): Promise<void> => {
  installRuntime(pino({ level: 'silent' }), { onPoisoned: () => undefined });
  const servers = await startServers();
  const databaseUrl = await createStore(servers.databaseUrl, 'outcomes');
  const pool = createPool({ databaseUrl, max: 20 });
  const connection = await NativeConnection.connect({ address: servers.temporalAddress });
  const jobs = defineHandler<{ to: string }>({
    name: 'jobs',
    target: ({ to }) => to,
    limits: { maxItems: flags.items },
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' })) }),
  });
  const client = createClient({ databaseUrl, handlers: [jobs], temporal: { address: servers.temporalAddress } });
  const log = pino({ level: 'info' }, { write: () => undefined });
  const callbacks = { allow: [], secret: null };
  const place = { namespace: 'default', prefix: 'muster' };
  const node = await createNode({ pool, connection, ...place, handlers: [jobs], log, callbacks });
  const running = node.run();
  const turn = switchOf(node);
  let rounds = 0;
  /** Returns microseconds of processor time per task. */
  const round = async (on: boolean): Promise<number> => {
    turn(on);
    const [name, n] = [`r${rounds++}`, flags.tasks];
    const begun = cpuMs();
    const ids = Array.from({ length: n }, (_, i) => `${name}-${i}`);
    const tasks = ids.map((id, i) => ({ id, payload: { to: `target ${i % 20}` } }));
    for (let i = 0; i < n; i += PER_CALL) await client.submit('jobs', tasks.slice(i, i + PER_CALL));
    await client.flush('jobs');
    for (let i = 0; i < n; i += PER_CALL) await client.waitFor(ids.slice(i, i + PER_CALL), { timeoutMs: 600_000 });
    return ((cpuMs() - begun) * 1_000) / n;
  };
  try {
    const call = perCallUs();
    const write = await perWrite(pool);
    await round(true);
    const [on, off]: number[][] = [[], []];
    for (let i = 0; i < flags.rounds; i++)
      // Which of the two comes first changes, since the store grows.
      for (const isOn of i % 2 === 0 ? [true, false] : [false, true]) (isOn ? on : off)!.push(await round(isOn));
    const [withUs, withoutUs] = [median(on!), median(off!)];
    // Of each pair by itself: over minutes the machine's speed changes by more than outcomes cost.
    const ratio = median(on!.map((us, i) => us / off![i]!));
    // What is measured by itself does not drown in the noise of a whole run.
    const share = (call / flags.items + (write.cpuMs * 1_000) / flags.tasks) / withoutUs;
    const result = { perCallUs: call, perWriteMs: write.ms, writeShare: write.ms / WRITE_EVERY_MS };
    process.stdout.write(`${JSON.stringify({ ...result, withUs, withoutUs, ratio, share, on, off })}\n`);
    say(`counting: ${call.toFixed(2)} us per call, of ${(withoutUs * flags.items).toFixed(0)} us that a call takes`);
    say(`writing: ${write.ms.toFixed(1)} ms for ${HANDLERS} handlers, every ${WRITE_EVERY_MS} ms`);
    say(`share of processor time: ${(share * 100).toFixed(2)} %; whole rounds, pair by pair: ${ratio.toFixed(3)}`);
    if (share >= MOST_SHARE) process.exitCode = 1;
  } finally {
    node.shutdown();
    await running;
    await Promise.all([client.close(), connection.close(), pool.end()]);
    await servers.stop();
  }
};

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
