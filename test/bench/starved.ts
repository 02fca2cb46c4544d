import { execFileSync, spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore } from '../../examples/support/database';
import { numberFlag, processFlags } from '../../examples/support/flags';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { startCli } from '../cli/process';
import { Load } from '../stops/load';
import type { Overrides } from '../stops/preload';
import { overrideTaskTimeout, overriding } from '../stops/preload';
import { CONFIG } from '../stops/run';

/**
 * `npm run bench:starved`: a worker and busy processes beside it on one core; as it is, and with
 * the settings of before. Needs taskset (Linux).
 */

const flags = processFlags(
  {
    name: 'npm run bench:starved --',
    summary:
      'Measures a worker that shares one core with busy processes: with the settings as they are, and as they were.',
    result: 'One line of JSON for each.',
    examples: ['--busy 30 --seconds 90'],
  },
  {
    busy: numberFlag(30, { text: 'processes that only compute, on the same core', min: 0, max: 200 }),
    seconds: numberFlag(90, {
      text: 'per settings; the worker is killed and begun again in the middle',
      min: 10,
      unit: 's',
    }),
    rate: numberFlag(40, { text: 'tasks per second', min: 1 }),
  },
);

const BEFORE: Overrides = {
  workflowTaskTimeoutMs: 5_000,
  workflowTasksAtOnce: 40,
  isolateMs: 5_000,
  withoutBackOff: true,
};
const pin = (pid: number): unknown => execFileSync('taskset', ['-a', '-p', '-c', '0', String(pid)]);

const measure = async (name: string, overrides: Overrides, databaseUrl: string, address: string): Promise<object> => {
  const { busy, seconds, rate } = flags;
  const prefix = `starved-${name}`;
  const env = {
    MUSTER_DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: address,
    MUSTER_PREFIX: prefix,
    ...overriding(overrides),
  };
  const start = () =>
    startCli(['worker', '--config', CONFIG], { cwd: process.cwd(), bin: path.resolve('bin/muster.js'), env });
  if (overrides.workflowTaskTimeoutMs !== undefined) overrideTaskTimeout(overrides.workflowTaskTimeoutMs);
  const load = new Load({ databaseUrl, address, prefix, rate });
  let worker = start();
  await worker.says(/"msg":"ready"/);
  const others = Array.from({ length: busy }, () =>
    spawn('taskset', ['-c', '0', process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  try {
    pin(worker.child.pid!);
    load.start();
    await sleep(seconds * 500);
    const said = worker.stderr();
    worker.child.kill('SIGKILL');
    await worker.exit;
    worker = start();
    pin(worker.child.pid!);
    await sleep(seconds * 500);
    const lost = (said + worker.stderr()).split('Task not found when completing').length - 1;
    const backlog = await load.backlog();
    return {
      name,
      busy,
      seconds,
      workflowTasksLost: lost,
      accepted: load.accepted,
      backlog,
      perSecond: (load.accepted - backlog) / seconds,
    };
  } finally {
    for (const other of others) other.kill('SIGKILL');
    worker.child.kill('SIGKILL');
    await worker.exit;
    await load.close();
  }
};

const run = async (): Promise<void> => {
  const [postgres, temporal] = await Promise.all([startPostgres({ settings: { fsync: 'off' } }), startTemporalDev()]);
  try {
    // The settings of before come last: the client of this process keeps them.
    for (const [name, overrides] of [
      ['after', {}],
      ['before', BEFORE],
    ] as const) {
      const databaseUrl = await createStore(postgres.url, `starved_${name}`);
      process.stdout.write(`${JSON.stringify(await measure(name, overrides, databaseUrl, temporal.address))}\n`);
    }
  } finally {
    await Promise.all([temporal.stop(), postgres.stop()]);
  }
};

run().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
