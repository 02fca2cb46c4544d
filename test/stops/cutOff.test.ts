import { randomBytes } from 'node:crypto';
import { killLeftovers, startCli } from '../cli/process';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { Load } from './load';
import { overriding } from './preload';
import { CONFIG } from './run';

/** What a process does whose workflow code was cut off in spite of its limit. @slow */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  killLeftovers();
  await database.drop();
});
const prefix = (): string => `stops-${randomBytes(4).toString('hex')}`;

test('a process whose workflow code is cut off says so in one fatal line and ends with exit code 1', async () => {
  const own = { databaseUrl: database.url, address: temporalAddress(), prefix: prefix(), rate: 0 };
  const load = new Load(own);
  const env = { MUSTER_DATABASE_URL: own.databaseUrl, TEMPORAL_ADDRESS: own.address, MUSTER_PREFIX: own.prefix };
  const worker = startCli(['worker', '--config', CONFIG, '--shutdown-grace', '1s'], {
    cwd: process.cwd(),
    env: { ...env, ...overriding({ isolateMs: 500, endless: true }) },
  });
  await worker.says(/"msg":"ready"/);
  await load.probe([0]);
  const ended = { code: null as number | string | null };
  void worker.exit.then((code) => (ended.code = code));
  await eventually(() => ended.code !== null, {
    what: () => `the process to end; it said\n${worker.stderr().slice(-5_000)}`,
  });
  expect(ended.code).toBe(1);
  const fatal = worker
    .stderr()
    .split('\n')
    .filter((line) => line.includes('"level":60'));
  expect(fatal).toEqual([
    expect.stringMatching(/Cannot run workflows in this process any more.*The worker drains, and exits with code 1/),
  ]);
  expect(worker.stderr()).toMatch(/Error: Cannot run workflows in this process any more: .*Restart the process/);
  await load.close();
});
