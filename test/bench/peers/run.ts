import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { choicesFlag, numberFlag, processFlags, textFlag } from '../../../examples/support/flags';
import { createDatabase } from '../../../postgres/testing/database';
import { CASES, scaled } from '../cases';
import type { BenchCase } from '../cases';
import { median } from '../report/optimum';
import { measureRun } from '../run';
import { startServers } from '../rig/servers';
import type { Servers } from '../rig/servers';
import { openSides } from '../sides';
import type { Measured, PeerSide } from './measure';
import { openPeer } from './measure';

/** `npm run bench:peers`: the same work by other queues, which are installed when missing. */

const PEERS = { 'pg-boss': 'pgBoss', 'graphile-worker': 'graphileWorker', bullmq: 'bullMq' } as const;
type PeerName = keyof typeof PEERS;
const NAMES = Object.keys(PEERS) as PeerName[];
const BACKLOGS = CASES.filter(({ overMs }) => overMs === undefined).map(({ name }) => name);

const flags = processFlags(
  {
    name: 'npm run bench:peers --',
    summary: 'Muster, hand-written SQL and other queues with the same work, in turns.',
    result: 'One line of JSON per case: tasks per second of each. Exit code 1 if it could not be measured.',
    examples: ['', '--case backlog --peer pg-boss --runs 1', '--redis-server /usr/bin/redis-server'],
  },
  {
    case: choicesFlag(BACKLOGS, 'what is measured'),
    peer: choicesFlag(NAMES, 'what Muster is compared with'),
    tasks: numberFlag(undefined, { text: 'tasks of each case', min: 1, unset: 'what the case has' }),
    runs: numberFlag(3, { text: 'runs of each side; medians are of these', min: 1 }),
    'redis-server': textFlag(undefined, {
      text: 'program that BullMQ runs on; without one it is left out',
      as: 'file',
      unset: 'redis-server of the PATH',
    }),
  },
);

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const ROOT = path.join(__dirname, '..', '..', '..', '..');
const FOLDER = path.join(ROOT, 'test', 'bench', 'peers');
const modified = (name: string): number => statSync(path.join(FOLDER, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;

const prepare = (): void => {
  const run = (command: string, args: readonly string[], cwd: string): void => {
    const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] });
    if (error !== undefined) throw error;
    if (status !== 0) throw new Error(`Cannot go on: ${command} ${args.join(' ')} ended with ${status}.`);
  };
  if (modified('node_modules/.package-lock.json') < modified('package-lock.json'))
    run('npm', ['ci', '--ignore-scripts'], FOLDER);
  run('npx', ['tsc', '-p', FOLDER], ROOT);
};

/** As safe as Redis can be made without a commit per write: a crash loses at most a second. */
const startRedis = (): { url: string; stop: () => void } | null => {
  const program = flags['redis-server'] ?? 'redis-server';
  if (spawnSync(program, ['--version']).status !== 0) return null;
  const folder = mkdtempSync(path.join(os.tmpdir(), 'muster-bench-'));
  const socket = path.join(folder, 'redis.sock');
  const safe = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--dir', folder];
  const server = spawn(program, ['--port', '0', '--unixsocket', socket, ...safe], { stdio: 'ignore' });
  const stop = (): void => {
    server.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    server.kill('SIGKILL');
  };
  return { url: socket, stop };
};

const openPeers = async (
  servers: Servers,
  benchCase: BenchCase,
  runs: readonly string[],
  redisUrl: string | null,
): Promise<PeerSide[]> => {
  const open: PeerSide[] = [];
  for (const name of flags.peer) {
    if (name === 'bullmq' && redisUrl === null) {
      say('bullmq: left out, no redis-server was found (--redis-server)');
      continue;
    }
    const database = `peer_${name}_${benchCase.name}`.replace(/\W/g, '_');
    const url = name === 'bullmq' ? redisUrl! : await createDatabase(servers.postgres.url, database);
    const script = path.join(FOLDER, 'dist', 'test', 'bench', 'peers', 'sides', `${PEERS[name]}.js`);
    const { downstream, downstreamPort } = servers;
    open.push(await openPeer({ name, script, url, runs, benchCase, downstream, downstreamPort }));
  }
  return open;
};

const compare = async (servers: Servers, benchCase: BenchCase, redisUrl: string | null): Promise<object> => {
  const runs = Array.from({ length: flags.runs }, (_, i) => `r${i + 1}`);
  const sides = await openSides(servers, benchCase);
  const peers = await openPeers(servers, benchCase, ['warm', ...runs], redisUrl);
  const measured = new Map<string, Measured[]>();
  try {
    for (const run of ['warm', ...runs]) {
      const one = async (name: string, measure: () => Promise<Measured>): Promise<void> => {
        const { seconds, calls } = await measure();
        const perS = Math.round(benchCase.tasks / seconds);
        say(`${benchCase.name}, ${run}: ${name} ${perS} tasks per second, ${calls} calls`);
        if (run !== 'warm') measured.set(name, [...(measured.get(name) ?? []), { seconds, calls }]);
      };
      for (const side of sides.all)
        await one(side.name === 'muster' ? 'muster' : `sql, ${side.name}`, () =>
          measureRun(servers, side, benchCase, run),
        );
      for (const peer of peers) await one(peer.name, () => peer.measure(run));
    }
  } finally {
    await sides.stop();
    for (const peer of peers) await peer.stop();
  }
  const perS = Object.fromEntries(
    [...measured].map(([name, all]) => [name, Math.round(benchCase.tasks / median(all.map(({ seconds }) => seconds)))]),
  );
  const ratios = Object.fromEntries(
    Object.entries(perS).map(([name, value]) => [name, Number((perS['muster']! / value).toFixed(2))]),
  );
  return {
    case: benchCase.name,
    tasks: benchCase.tasks,
    targets: benchCase.targets,
    runs: flags.runs,
    perS,
    musterTo: ratios,
  };
};

const main = async (): Promise<void> => {
  prepare();
  const redis = flags.peer.includes('bullmq') ? startRedis() : null;
  const servers = await startServers(false);
  try {
    for (const name of flags.case) {
      const found = CASES.find((one) => one.name === name)!;
      const benchCase = scaled(found, flags.tasks ?? found.tasks);
      process.stdout.write(`${JSON.stringify(await compare(servers, benchCase, redis?.url ?? null))}\n`);
    }
  } finally {
    redis?.stop();
    await servers.stop();
  }
};

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
