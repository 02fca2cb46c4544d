import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { distPath } from './paths';

/**
 * `npm run demo` as a person runs it: its own servers, its own processes, and nothing left of them.
 */
const cwd = mkdtempSync(join(tmpdir(), 'muster-demo-'));
/** Four servers, a migration and the workers; on a busy machine that takes its time. */
const START_MS = 100_000;
jest.setTimeout(120_000);
const CITIES = rounds(1_000, 3_000);
const demos: ChildProcess[] = [];
afterEach(() => demos.splice(0).forEach((demo) => demo.kill('SIGKILL'))); // of a test that failed; what it started ends with it
afterAll(() => rmSync(cwd, { recursive: true }));

function startDemo(...args: string[]) {
  const child = spawn(process.execPath, [distPath('examples/demo/demo.js'), ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  demos.push(child);
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
  return { child, said, ended: once(child, 'close') as Promise<[code: number | null, signal: string | null]> };
}

/** The processes that the demo has said it started. */
const processesOf = (stderr: string): number[] =>
  [...stderr.matchAll(/process (\d+)/g)].map((match) => Number(match[1]));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const allGone = (pids: readonly number[]) =>
  eventually(() => !pids.some(isAlive), { what: () => `the end of ${pids.filter(isAlive).join(', ')}` });

/** In the middle: tasks are being accepted. */
const busy = (said: { stderr: string }) =>
  eventually(() => /accepted .* ended/.test(said.stderr), { timeoutMs: START_MS });

test('ends by itself with exit code 0 and the table, and nothing that it started is left', async () => {
  const { said, ended } = startDemo('--limit', String(CITIES));
  expect([await ended, said.stderr.match(/WRONG.*/)]).toEqual([[0, null], null]);
  expect(said.stdout).toContain(`one by one: ${CITIES.toLocaleString('en-US')}; the fewest possible:`);
  expect(said.stdout).toMatch(/= [\d,]+ succeeded/);
  const pids = processesOf(said.stderr);
  expect(pids).toHaveLength(5); // Postgres, Temporal, the downstream, two workers
  await allGone(pids);
});

test('Ctrl-C in the middle ends everything, exit code 130', async () => {
  const { child, said, ended } = startDemo('--workers', '1');
  await busy(said);
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  await allGone(processesOf(said.stderr));
});

test('a killed demo leaves nothing behind', async () => {
  const { child, said, ended } = startDemo('--workers', '1');
  await busy(said);
  child.kill('SIGKILL');
  await ended;
  await allGone(processesOf(said.stderr));
});

test('--keep stays up for the Web UI and for npx muster in this folder, until Ctrl-C', async () => {
  const { child, said, ended } = startDemo('--limit', '100', '--workers', '1', '--keep');
  const dev = await eventually(() => readdirSync(cwd).includes('.muster') && /Ctrl-C/.test(said.stderr) && devFile(), {
    timeoutMs: START_MS,
    what: () => said.stderr,
  });
  const ui = await fetch(dev.temporal.uiUrl);
  expect([ui.status, ui.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  expect(said.stderr).toContain(dev.temporal.uiUrl);
  child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  await allGone(processesOf(said.stderr));
  expect(devFile()).toBeNull();
});

function devFile(): { temporal: { uiUrl: string } } | null {
  try {
    return JSON.parse(readFileSync(join(cwd, '.muster', 'dev.json'), 'utf8')) as { temporal: { uiUrl: string } };
  } catch {
    return null;
  }
}
