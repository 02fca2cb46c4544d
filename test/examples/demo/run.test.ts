import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inCi, rounds } from '../../helpers/long';
import { allGone, killDemos, processesOf, startDemo } from './process';

/**
 * `npm run demo` as a person runs it: its own servers, its own processes, and nothing left of them.
 * What ends it in other ways: `stopped.test.ts`.
 */
const cwd = mkdtempSync(join(tmpdir(), 'muster-demo-'));
jest.setTimeout(120_000);
const CITIES = rounds(inCi(200, 1_000), 3_000);
afterEach(killDemos);
afterAll(() => rmSync(cwd, { recursive: true }));

test('ends by itself with exit code 0 and the table, and nothing that it started is left', async () => {
  const { said, ended } = startDemo(cwd, '--limit', String(CITIES));
  expect([await ended, said.stderr.match(/WRONG.*/)]).toEqual([[0, null], null]);
  expect(said.stdout).toContain(`one by one: ${CITIES.toLocaleString('en-US')}; the fewest possible:`);
  expect(said.stdout).toMatch(/= [\d,]+ succeeded/);
  const pids = processesOf(said.stderr);
  expect(pids).toHaveLength(5); // Postgres, Temporal, the downstream, two workers
  await allGone(pids);
});
