import type { ChildProcess } from 'node:child_process';
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../project/project';

/** One run of one test file, with other text in place of some files of the product. */
export interface Trial {
  /** Absolute, as all paths here. */
  file: string;
  swaps: readonly { file: string; text: string }[];
  /** Names of tests; null: all of the file. */
  only: readonly string[] | null;
}

export interface Outcome {
  hasFailed: boolean;
  /** The text is no program. */
  isInvalid?: boolean;
  /** What it said; undefined: it passed. */
  failure?: string;
  ms: number;
  /** Of the tests alone, without loading the file. */
  testsMs: number;
  /** Spots that were executed, by test; '' stands for loading the file, and for hooks. */
  hits: readonly { test: string; spots: readonly number[]; ms: number }[];
  rssBytes: number;
}

type Answer = Outcome | { started: true } | { error: string };
interface JestConfig {
  globalConfig: object;
  config: object;
}

/** Above it the process is replaced: it keeps what every run has loaded. */
const MOST_BYTES = 1.5e9;

/** Returns jest's own reading of a config file of the repository. */
export const readJestConfig = async (file: string): Promise<JestConfig> => {
  const jest = path.join(ROOT, 'node_modules/jest/bin/jest.js');
  const { stdout } = await promisify(execFile)(process.execPath, [jest, '--config', file, '--showConfig'], {
    cwd: ROOT,
  });
  const { globalConfig, configs } = JSON.parse(stdout) as { globalConfig: object; configs: [object] };
  return { globalConfig, config: configs[0] };
};

/** Runs test files in a process that stays, and starts another where one does not come back. */
export class WarmJest {
  private child: ChildProcess | null = null;
  private rssBytes = 0;

  constructor(private readonly jest: JestConfig) {}

  /** Runs one file; null: it did not end in `limitMs`. */
  async run(trial: Trial, limitMs: number): Promise<Outcome | null> {
    if (this.rssBytes > MOST_BYTES) await this.stop();
    this.child ??= await this.start();
    const answer = await ask(this.child, trial, limitMs);
    if (answer === null || 'error' in answer) await this.stop();
    if (answer === null) return null;
    if ('error' in answer) return { hasFailed: true, failure: answer.error, ms: 0, testsMs: 0, hits: [], rssBytes: 0 };
    if ('started' in answer) throw new Error('Cannot read the answer of the test process: it started twice.');
    this.rssBytes = answer.rssBytes;
    return answer;
  }

  async stop(): Promise<void> {
    const { child } = this;
    [this.child, this.rssBytes] = [null, 0];
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  private async start(): Promise<ChildProcess> {
    const child = fork(path.join(__dirname, 'jest', 'warm.js'), {
      cwd: ROOT,
      execArgv: [],
      stdio: ['ignore', 'ignore', process.env['MUSTER_TEST_LOG'] === undefined ? 'ignore' : 'inherit', 'ipc'],
    });
    // It may be in code that does not end, and would outlive this process.
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    const answer = await ask(child, { jest: this.jest }, START_MS);
    if (answer !== null && 'started' in answer) return child;
    child.kill('SIGKILL');
    const said = answer !== null && 'error' in answer ? answer.error : 'it does not answer';
    throw new Error(`Cannot start the process of the tests: ${said}. Run it with MUSTER_TEST_LOG=1.`);
  }
}
const START_MS = 120_000;

const ask = async (child: ChildProcess, message: Trial | { jest: JestConfig }, limitMs: number) =>
  new Promise<Answer | null>((resolve) => {
    const timer = setTimeout(() => end(null), limitMs);
    const onMessage = (answer: unknown): void => end(answer as Answer);
    const onExit = (code: number | null): void => end({ error: `the process ended with code ${code}` });
    const end = (answer: Answer | null): void => {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(answer);
    };
    child.on('message', onMessage);
    child.on('exit', onExit);
    child.send(message);
  });
