import { randomBytes } from 'node:crypto';
import { FOREIGN_SCOPE } from '../../workflows/ownScope';
import { killLeftovers, startCli } from '../cli/process';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { Load } from './load';
import { overriding } from './preload';
import { CONFIG, runStops } from './run';

/**
 * The short form of `npm run test:stops`, and what a process does whose runs begin in the scope of
 * another run all the same.
 *
 * @alone @full
 */

let database: TestDatabase;
let other: TestDatabase;
beforeAll(async () => {
  [database, other] = await Promise.all([createDatabase(), createDatabase()]);
});
afterAll(async () => {
  killLeftovers();
  await database.drop();
  await other.drop();
});
const prefix = (): string => `stops-${randomBytes(4).toString('hex')}`;

test('a worker stopped for six seconds inside workflow code, twice: it lives, and sending goes on within 30 s', async () => {
  const said: string[] = [];
  const figures = await runStops({
    databaseUrl: database.url,
    address: temporalAddress(),
    prefix: prefix(),
    workers: 1,
    stops: 2,
    stopMs: 6_000,
    rate: 100,
    log: (line) => said.push(line),
  });
  if (figures.deaths > 0 || figures.goesOnMs === null) throw new Error(said.join('\n'));
  expect(figures).toMatchObject({ stops: 2, inside: 2, deaths: 0, drainedMs: expect.any(Number) });
  expect(figures.goesOnMs).toBeLessThan(30_000);
});

test('a process whose runs begin in the scope of another run says so, and ends with exit code 1; another worker goes on with them', async () => {
  const own = { databaseUrl: other.url, address: temporalAddress(), prefix: prefix(), rate: 0 };
  const load = new Load(own);
  const env = { MUSTER_DATABASE_URL: own.databaseUrl, TEMPORAL_ADDRESS: own.address, MUSTER_PREFIX: own.prefix };
  const start = (more: Record<string, string>) =>
    startCli(['worker', '--config', CONFIG, '--shutdown-grace', '1s'], {
      cwd: process.cwd(),
      env: { ...env, ...more },
    });
  const poisoned = start(overriding({ foreignScope: true }));
  await poisoned.says(/"msg":"ready"/);
  const ids = await load.probe([0, 1, 2]);
  await poisoned.says(/"level":60/);
  const healthy = start({});
  expect(await poisoned.exit).toBe(1);
  expect(poisoned.stderr()).toContain(FOREIGN_SCOPE);
  const fatal = poisoned
    .stderr()
    .split('\n')
    .filter((line) => line.includes('"level":60'));
  expect(fatal).toEqual([
    expect.stringMatching(/Cannot run workflows in this process any more.*The worker drains, and exits with code 1/),
  ]);
  await healthy.says(/"msg":"ready"/);
  expect(await load.succeeded(ids)).not.toBeNull();
  expect(healthy.stderr()).not.toContain(FOREIGN_SCOPE);
  healthy.child.kill('SIGTERM');
  expect(await healthy.exit).toBe(0);
  await load.close();
});
