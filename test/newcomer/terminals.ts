import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '../helpers/eventually';
import { serverUser } from '../../workers/embedded/serverUser';
import { says } from './compare';

/** Time that a block of commands may take: some of them install packages. */
const BLOCK_MS = 600_000;
const SOON_MS = 180_000;
const STOP_MS = 60_000;

interface Terminal {
  child: ChildProcess;
  printed: string;
  ended: Promise<void>;
}

/**
 * A user's terminals: one in which commands are run one after the other, which keeps its folder
 * and its exported variables, and those in which a command stays.
 */
export class Terminals {
  private readonly staying = new Map<string, Terminal>();
  /** What each block begins with: the folder and the variables of the one before. */
  private readonly state: string;

  constructor(
    folder: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    this.state = path.join(folder, 'state.sh');
    writeFileSync(this.state, `cd '${folder}'\n`);
  }

  /** Returns the folder that the commands are in. */
  get folder(): string {
    return /^cd '(.*)'$/m.exec(readFileSync(this.state, 'utf8'))![1]!;
  }

  /** Runs commands and returns what they print. Throws if one of them fails. */
  async run(commands: string): Promise<string> {
    const keep = `{ export -p; echo "cd '$PWD'"; } > '${this.state}'`;
    const terminal = await this.open(`${commands}\n${keep}`);
    const limit = setTimeout(() => kill(terminal.child, 'SIGKILL'), BLOCK_MS);
    await terminal.ended;
    clearTimeout(limit);
    const { exitCode, signalCode } = terminal.child;
    if (exitCode !== 0)
      throw new Error(`Cannot go on: the commands ended with ${signalCode ?? exitCode}.\n${terminal.printed}`);
    return terminal.printed;
  }

  /** Starts a command that stays; resolves when it has printed `until`. */
  async stay(name: string, commands: string, until: string): Promise<void> {
    const terminal = await this.open(commands);
    this.staying.set(name, terminal);
    await this.says(name, until);
  }

  /** Waits until a terminal has shown all of these lines. */
  async says(name: string, lines: string): Promise<void> {
    const terminal = this.of(name);
    const state = (): string => `"${lines}" in terminal ${name}; it shows\n${terminal.printed}`;
    const shown = (): boolean => says(lines, terminal.printed);
    await eventually(() => shown() || terminal.child.exitCode !== null, { timeoutMs: SOON_MS, what: state });
    if (!shown()) throw new Error(`Cannot go on: it ended before ${state()}`);
  }

  /** Presses Ctrl-C, and waits for the end. */
  async end(name: string): Promise<void> {
    const { child, ended } = this.of(name);
    this.staying.delete(name);
    kill(child, 'SIGINT');
    const limit = setTimeout(() => kill(child, 'SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(limit);
  }

  async close(): Promise<void> {
    await Promise.all([...this.staying.keys()].map((name) => this.end(name)));
  }

  private of(name: string): Terminal {
    const terminal = this.staying.get(name);
    if (terminal === undefined) throw new Error(`Cannot go on: expected a terminal ${name}, got none of this name.`);
    return terminal;
  }

  private async open(commands: string): Promise<Terminal> {
    // PgBouncer does not run as root.
    const user = commands.startsWith('pgbouncer ') ? await serverUser(this.folder) : undefined;
    const child = spawn('bash', ['-euo', 'pipefail', '-c', `source '${this.state}'\n{\n${commands}\n} 2>&1`], {
      ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
      env: this.env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true, // a group, as in a terminal: Ctrl-C reaches all of it
    });
    const terminal: Terminal = {
      child,
      printed: '',
      ended: new Promise((resolve, reject) => child.once('error', reject).once('close', () => resolve())),
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (terminal.printed += text));
    return terminal;
  }
}

const kill = ({ pid, exitCode, signalCode }: ChildProcess, signal: NodeJS.Signals): void => {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal);
};
