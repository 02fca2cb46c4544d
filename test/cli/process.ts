import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { eventually } from '../helpers/eventually';

/** The command line as a user runs it: a separate process, from dist/. */

const MUSTER = path.join(__dirname, '..', '..', 'bin', 'muster.js');

export interface CliOptions {
  cwd: string;
  /** The program; left out: this checkout's. */
  bin?: string;
  /** Added to an environment without any setting of Muster or Temporal. */
  env?: Readonly<Record<string, string>>;
  stdin?: string;
}

export interface CliProcess {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves when both streams are closed: the exit code, or the name of the signal. */
  exit: Promise<number | string>;
  /** Waits until the process has said it; fails when it ends before. */
  says(pattern: RegExp): Promise<void>;
}

const running = new Set<ChildProcess>();

/** Kills what a failed test left behind. */
export const killLeftovers = (): void => {
  for (const child of running) child.kill('SIGKILL');
};

const cleanEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(MUSTER_|TEMPORAL_|PG)/.test(name)));

export const startCli = (args: readonly string[], { cwd, bin = MUSTER, env = {}, stdin }: CliOptions): CliProcess => {
  const child = spawn(process.execPath, [bin, ...args], { cwd, env: { ...cleanEnv(), ...env }, stdio: 'pipe' });
  running.add(child);
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.stdin.on('error', () => undefined); // it may end before it has read all
  child.stdin.end(stdin ?? '');
  let ended = false;
  const exit = new Promise<number | string>((resolve) =>
    child.once('close', (code, signal) => {
      ended = true;
      running.delete(child);
      resolve(code ?? signal ?? 'nothing');
    }),
  );
  const says = async (pattern: RegExp): Promise<void> => {
    const state = (): string => `${pattern} of muster ${args.join(' ')}; it said\n${out}\n${err}`;
    await eventually(() => pattern.test(out + err) || (ended && 'ended'), { timeoutMs: 60_000, what: state });
    if (!pattern.test(out + err)) throw new Error(`it ended before ${state()}`);
  };
  return { child, stdout: () => out, stderr: () => err, exit, says };
};

export interface CliResult {
  code: number | string;
  stdout: string;
  stderr: string;
  /** stdout as the one JSON document that it must be. */
  json<T = Record<string, unknown>>(): T;
  /** stdout as lines of JSON. */
  lines<T = Record<string, unknown>>(): T[];
}

/** Runs a command to its end. */
export const runCli = async (args: readonly string[], options: CliOptions): Promise<CliResult> => {
  const started = startCli(args, options);
  const code = await started.exit;
  const [stdout, stderr] = [started.stdout(), started.stderr()];
  const parsed = <T>(text: string): T => {
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new Error(`muster ${args.join(' ')}: expected JSON on stdout, got\n${stdout}\nstderr:\n${stderr}`);
    }
  };
  return {
    code,
    stdout,
    stderr,
    json: <T>() => parsed<T>(stdout),
    lines: <T>() =>
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => parsed<T>(line)),
  };
};
