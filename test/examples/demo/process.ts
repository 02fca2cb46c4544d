import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '../../helpers/eventually';
import { distPath } from '../paths';

interface Said {
  stdout: string;
  stderr: string;
}
export interface DemoProcess {
  child: ChildProcess;
  said: Said;
  ended: Promise<[code: number | null, signal: string | null]>;
}

const demos: ChildProcess[] = [];
/** Ends the demos of a test that failed; what they started ends with them. */
export const killDemos = (): void => demos.splice(0).forEach((demo) => demo.kill('SIGKILL'));

/** Starts `npm run demo` in this folder, as a person runs it. */
export const startDemo = (cwd: string, ...args: string[]): DemoProcess => {
  const child = spawn(process.execPath, [distPath('examples/demo/demo.js'), ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  demos.push(child);
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
  return { child, said, ended: once(child, 'close') as DemoProcess['ended'] };
};

/** Returns the processes that the demo has said it started. */
export const processesOf = (stderr: string): number[] =>
  [...stderr.matchAll(/process (\d+)/g)].map((match) => Number(match[1]));

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

export const allGone = (pids: readonly number[]): Promise<unknown> =>
  eventually(() => !pids.some(isAlive), { what: () => `the end of ${pids.filter(isAlive).join(', ')}` });
