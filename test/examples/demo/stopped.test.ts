import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../helpers/eventually';
import { allGone, killDemos, processesOf, startDemo } from './process';

/** `npm run demo` that is stopped, killed or kept: nothing of it is left in the end. @slow */
const cwd = mkdtempSync(join(tmpdir(), 'muster-demo-'));
/** Four servers, a migration and the workers; on a busy machine that takes its time. */
const START_MS = 100_000;
jest.setTimeout(120_000);
afterEach(killDemos);
afterAll(() => rmSync(cwd, { recursive: true }));

/** In the middle: tasks are being accepted. */
const busy = (said: { stderr: string }) =>
  eventually(() => /accepted .* ended/.test(said.stderr), { timeoutMs: START_MS });

test('Ctrl-C in the middle ends everything, exit code 130', async () => {
  const { child, said, ended } = startDemo(cwd, '--workers', '1');
  await busy(said);
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  await allGone(processesOf(said.stderr));
});

test('a killed demo leaves nothing behind', async () => {
  const { child, said, ended } = startDemo(cwd, '--workers', '1');
  await busy(said);
  child.kill('SIGKILL');
  await ended;
  await allGone(processesOf(said.stderr));
});

test('--keep stays up for the Web UI and for npx muster in this folder, until Ctrl-C', async () => {
  const { child, said, ended } = startDemo(cwd, '--limit', '100', '--workers', '1', '--keep');
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
