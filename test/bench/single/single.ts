import { numberFlag, processFlags, textFlag } from '../../../examples/support/flags';
import path from 'node:path';
import type { Child } from '../rig/child';
import { startChild } from '../rig/child';
import { script, startServers } from '../rig/servers';
import { openConnection } from '../rig/store';
import { resetStatements, writeStatements } from '../statements';
import { percentile } from '../report/optimum';
import type { Called, Calls } from './callers';
import type { Side, SingleResult } from './result';
import { latencyOf, singleResult } from './result';

/** `npm run bench:single`: callers with one task each, what the product exists for. */

const flags = processFlags(
  {
    name: 'npm run bench:single --',
    summary: 'Single submits, Muster against one insert each, in turns.',
    result: 'One line of JSON: accepted per second, and latencies at 10, 50 and 90 % of the top rate.',
    examples: ['', '--callers 8 --tasks 2000 --runs 1'],
  },
  {
    callers: numberFlag(64, { text: 'callers, each with one task at a time', min: 1 }),
    tasks: numberFlag(20_000, { text: 'tasks of a run', min: 100 }),
    targets: numberFlag(50, { text: 'targets that they are for', min: 1 }),
    connections: numberFlag(10, { text: 'connections of each side', min: 1, max: 100 }),
    runs: numberFlag(3, { text: 'runs of each side; medians are of these', min: 1 }),
    seconds: numberFlag(4, { text: 'for so long latencies are measured, per rate and side', min: 1, unit: 's' }),
    profile: textFlag(undefined, {
      text: "write CPU profiles of Muster's caller, and the time of every statement, there",
      as: 'dir',
      unset: 'none are written',
    }),
  },
);
const SHARES = [0.1, 0.5, 0.9];
const LONE = 200;
const LINGER_MS = 3_600_000;
const DATABASE = 'muster_single';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const main = async (): Promise<void> => {
  const servers = await startServers(flags.profile !== undefined);
  const sides: Record<Side, Child> = {
    muster: startChild(
      script('single/musterCaller'),
      flags.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${flags.profile}`],
    ),
    floor: startChild(script('single/floorCaller')),
  };
  try {
    const { connections, callers, tasks, targets } = flags;
    const databaseUrl = await servers.createMusterDatabase(DATABASE);
    const handler = { port: servers.downstreamPort, maxItems: 500, lingerMs: LINGER_MS };
    const temporalAddress = servers.temporal.address;
    await sides.muster.ask('open', { databaseUrl, temporalAddress, connections, ...handler });
    await sides.floor.ask('open', { databaseUrl: servers.floorUrl, connections });
    const call = (side: Side, run: string, more: Partial<Calls>): Promise<Called> =>
      sides[side].ask<Called>('call', { run, tasks, targets, callers, ...more } satisfies Calls);
    for (const side of ['floor', 'muster'] as const) await call(side, 'warm', { tasks: Math.min(tasks, 2_000) });
    const lone = await call('floor', 'lone', { tasks: LONE, callers: 1 });
    const watched = [{ store: { connection: await openConnection(databaseUrl) } }];
    if (flags.profile !== undefined) await resetStatements(watched);
    const runs: Record<Side, Called[]> = { muster: [], floor: [] };
    for (let i = 1; i <= flags.runs; i++)
      for (const side of ['floor', 'muster'] as const) {
        const called = await call(side, `r${i}`, {});
        runs[side].push(called);
        say(`run ${i} of ${flags.runs}: ${side} ${Math.round(tasks / called.seconds)} accepted per second`);
      }
    if (flags.profile !== undefined) await writeStatements(watched, path.join(flags.profile, 'single.statements.json'));
    await watched[0]!.store.connection.end();
    const latency: SingleResult['latency'] = {};
    for (const share of SHARES) {
      const at = async (side: Side) => {
        const perS = share * Math.max(...runs[side].map(({ seconds }) => tasks / seconds));
        return latencyOf(
          await call(side, `l${share}`, { perS, tasks: Math.max(100, Math.round(perS * flags.seconds)) }),
        );
      };
      latency[String(share)] = { floor: await at('floor'), muster: await at('muster') };
      say(`at ${share * 100} % of its top rate: ${JSON.stringify(latency[String(share)])}`);
    }
    const result = singleResult({ callers, tasks }, runs, percentile(lone.latenciesMs, 0.5), latency);
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    await Promise.all([sides.muster.stop(), sides.floor.stop()]);
    await servers.stop();
  }
};

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
