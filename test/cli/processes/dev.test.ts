import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@temporalio/client';
import type { Downstream } from '../downstream';
import { startDownstream } from '../downstream';
import type { CliProcess } from '../process';
import { killLeftovers, runCli, runProcess, startDev } from '../process';
import { CONFIG, makeFolder, order } from '../world';
import { connectTo } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** `muster dev` in a user's own folder: the real embedded servers, twice. @slow */

let usual: number;
let folder: string;
let downstream: Downstream;
beforeAll(async () => {
  usual = process.umask(0o022);
  folder = makeFolder();
  downstream = await startDownstream();
  writeFileSync(path.join(folder, 'muster.config.ts'), CONFIG);
});
afterAll(async () => {
  process.umask(usual);
  killLeftovers();
  await downstream.close();
  rmSync(folder, { recursive: true, force: true });
});

const options = () => ({ cwd: folder, env: { DOWNSTREAM_URL: downstream.url } });
const run = (args: string[], stdin = '') => runCli(args, { ...options(), stdin });
const devFile = (): string => path.join(folder, '.muster', 'dev.json');

const start = async (): Promise<CliProcess & { ready: Ready }> => {
  const dev = await startDev(options());
  await dev.says(/"ready":true/);
  return { ...dev, ready: JSON.parse(dev.stdout()) as Ready };
};
interface Ready {
  temporal: { address: string; uiUrl: string };
  database: string;
  api: string;
  handlers: string[];
}

const currentBuild = async (address: string): Promise<string | null | undefined> => {
  const connection = await connectTo({ address });
  try {
    const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment({
      namespace: 'default',
      deploymentName: 'muster',
    });
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId;
  } finally {
    await connection.close();
  }
};

/** Where workflows of a type lead to in Temporal's Web UI. */
const linksOf = async (address: string, type: string): Promise<unknown[]> => {
  const connection = await connectTo({ address });
  try {
    const { workflow } = new Client({ connection });
    return await eventually(async () => {
      const links: unknown[] = [];
      for await (const { memo } of workflow.list({ query: `WorkflowType = '${type}'` }))
        links.push(memo?.['dashboard']);
      return links.length > 0 && [...new Set(links)];
    });
  } finally {
    await connection.close();
  }
};

/** Processes that hold something of the folder open, or were started with it. */
const processesOf = (): string[] =>
  execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(folder));

/** What other users of the machine could read, write or enter, below a folder. */
const openToOthers = (root: string): string[] =>
  [root, ...readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => path.join(root, name))].flatMap(
    (file) => {
      // Postgres makes and removes files while it runs.
      const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
      return (mode & 0o077) === 0 ? [] : [`${path.relative(root, file)} ${(mode & 0o777).toString(8)}`];
    },
  );

test('dev: submit from the same folder without any setting; Ctrl-C stops all; the data is there the next time [Build 7]', async () => {
  const first = await start();
  expect(first.ready).toMatchObject({
    handlers: ['orders', 'slow', 'narrow'],
    temporal: { uiUrl: expect.stringMatching(/^http:/) },
  });
  const { password } = new URL((JSON.parse(readFileSync(devFile(), 'utf8')) as { databaseUrl: string }).databaseUrl);
  expect(first.stdout() + first.stderr()).not.toContain(password);
  expect(openToOthers(path.join(folder, '.muster'))).toEqual([]);
  expect((await fetch(first.ready.temporal.uiUrl)).status).toBe(200);
  // The HTTP API, for this machine and without a token.
  expect(new URL(first.ready.api).hostname).toBe('127.0.0.1');
  expect((await fetch(`${first.ready.api}/v1/status`)).status).toBe(200);
  expect(JSON.parse(readFileSync(devFile(), 'utf8'))).toMatchObject({ api: first.ready.api });
  expect(await currentBuild(first.ready.temporal.address)).toMatch(/^\d+\.\d+\.\d+-[0-9a-f]{12}$/); // of the workflows as they are built

  const done = await run(
    ['submit', 'orders', '--file', '-', '--wait', '--json'],
    JSON.stringify({ ...order('kept', 'se', 4), callback: { workflowId: 'none-has-this-id' } }),
  );
  expect(done).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Error') });
  // The command has started the leader, and the worker what delivers the callback.
  const { address } = first.ready.temporal;
  expect(await linksOf(address, 'leader')).toEqual([`${first.ready.api}/#/handlers/orders`]);
  expect(await linksOf(address, 'notifier')).toEqual([`${first.ready.api}/#/callbacks`]);
  const waits = await run(['submit', 'slow', '--file', '-', '--json'], JSON.stringify(order('waits', 'se')));
  expect(waits.code).toBe(0);

  const second = await runProcess(['dev', '--json'], options());
  expect(second.code).toBe(3);
  expect(second.json()).toMatchObject({
    error: { message: expect.stringContaining(`(process ${first.child.pid}) is already running in`) },
  });

  first.child.kill('SIGINT');
  expect(await first.exit).toBe(0);
  expect(first.stderr()).toContain('Stopped; the data is kept.');
  expect(existsSync(devFile())).toBe(false);
  expect(processesOf()).toEqual([]);

  const again = await start();
  expect((await run(['task', 'kept', '--json'])).json()).toMatchObject({ state: 'succeeded', result: { double: 8 } });
  expect((await run(['flush', 'slow', '--json'])).json()).toEqual({ targets: 1, tasks: 1 });
  expect(
    (await run(['submit', 'slow', '--file', '-', '--wait', '--json'], JSON.stringify(order('waits', 'se')))).code,
  ).toBe(0);
  again.child.kill('SIGTERM');
  expect(await again.exit).toBe(0);
  expect(processesOf()).toEqual([]);
});
