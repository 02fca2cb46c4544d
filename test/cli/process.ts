import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { eventually } from '../helpers/eventually';
import { freePorts } from '../helpers/machine/freePort';

/**
 * The command line from dist/: `startCli` and `runProcess` as users run it, in a process; `runCli`
 * within this one, which takes a tenth of the time.
 */

const MUSTER = path.join(__dirname, '..', '..', 'bin', 'muster.js');

export interface CliOptions {
  cwd: string;
  /** Added to an environment without any setting of Muster or Temporal. */
  env?: Readonly<Record<string, string>>;
  stdin?: string;
}
export interface ProcessOptions extends CliOptions {
  /** The program; left out: this checkout's. */
  bin?: string;
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

const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !/^(MUSTER_|TEMPORAL_|PG)/.test(name)));
const environment = (env: CliOptions['env']): NodeJS.ProcessEnv => ({ ...withoutSettings(process.env), ...env });

export const startCli = (args: readonly string[], { cwd, bin = MUSTER, env, stdin }: ProcessOptions): CliProcess => {
  const child = spawn(process.execPath, [bin, ...args], { cwd, env: environment(env), stdio: 'pipe' });
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
    await eventually(() => pattern.test(out + err) || (ended && 'ended'), { timeoutMs: 150_000, what: state });
    if (!pattern.test(out + err)) throw new Error(`it ended before ${state()}`);
  };
  return { child, stdout: () => out, stderr: () => err, exit, says };
};

/**
 * Starts `muster dev` at free ports: on the usual ones, which it takes otherwise, a developer's
 * clients would find it in place of their own.
 */
export const startDev = async (options: ProcessOptions, ...more: string[]): Promise<CliProcess> => {
  const ports = await freePorts('temporal', 'ui', 'database');
  const flags = Object.entries(ports).flatMap(([server, port]) => [`--${server}-port`, String(port)]);
  return startCli(['dev', '--json', ...flags, ...more], options);
};

interface Run {
  code: number | string;
  stdout: string;
  stderr: string;
}
export interface CliResult extends Run {
  /** stdout as the one JSON document that it must be. */
  json<T = Record<string, unknown>>(): T;
  /** stdout as lines of JSON. */
  lines<T = Record<string, unknown>>(): T[];
}

/** Of the environment of the tests, `helpers/jest/commandLine.js`. */
interface CommandLineGlobal {
  runMuster(
    args: readonly string[],
    options: { cwd: string; env: NodeJS.ProcessEnv; ofConfig: NodeJS.ProcessEnv; stdin: string },
  ): Promise<Run>;
}

/** Runs a command to its end in this process; `dev`, `worker` and `api` need their own. */
export const runCli = async (
  args: readonly string[],
  { cwd, env = {}, stdin = '' }: CliOptions,
): Promise<CliResult> => {
  const { runMuster } = globalThis as unknown as CommandLineGlobal;
  const options = { cwd, env: environment(env), ofConfig: withoutSettings(env), stdin };
  return resultOf(args, await runMuster(args, options));
};

/** Runs a command to its end in a process. */
export const runProcess = async (args: readonly string[], options: ProcessOptions): Promise<CliResult> => {
  const { exit, stdout, stderr } = startCli(args, options);
  return resultOf(args, { code: await exit, stdout: stdout(), stderr: stderr() });
};

const resultOf = (args: readonly string[], { code, stdout, stderr }: Run): CliResult => {
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
