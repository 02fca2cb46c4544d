import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { RunOutcome } from '../types';
import { nodeFailure } from '../types';
import { guestCommand, guestOpening } from './guestProgram';
import type { GuestLimits } from './guestProgram';
import { encodeFrame, FrameReader } from './guest/frames';
import type { Frame, FrameLimits } from './guest/frames';
import type { Answer, Call } from './guest/run';

/** Longest head of an answer, and what is kept of what a process says at its end. */
const HEAD_BYTES = 65_536;
const SAID_CHARS = 4_000;
const REASON_CHARS = 300;
const NO_BYTES: FrameLimits = { head: HEAD_BYTES, first: 0, second: 0 };

interface Asked {
  limits: FrameLimits;
  answered: (frame: Frame) => void;
  failed: (error: Error) => void;
}

/**
 * A process that runs one module, one run at a time. It has no variable, no folder and no file, and
 * ends with this process. Whatever it does, this process loses a run at most: its answers are
 * checked, and interrupting a run kills it.
 */
export class ModuleProcess {
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>;
  private readonly child: ChildProcess;
  private readonly frames = new FrameReader();
  private asked: Asked | null = null;
  private alive = true;
  /** Why it ended, for those who ask it afterwards. */
  private endedBy: string | null = null;
  /** What it said at its end, and what Node said about it. */
  private said = '';
  private complained = '';

  constructor(source: string, limits: GuestLimits) {
    const { file, args } = guestCommand(limits);
    this.child = spawn(file, args, { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
    this.gone = new Promise((resolve) => {
      this.child.on('error', (error) => {
        this.fail(`the process of the module cannot be started: ${error.message}`);
        if (this.child.pid === undefined) resolve();
      });
      this.child.on('close', (code, signal) => {
        this.fail(`the process of the module ended with ${signal ?? code}${this.reason()}`);
        resolve();
      });
    });
    if (this.child.pid === undefined) return; // there may be no pipes, and its error comes
    const { stdin, stdout, stderr } = this.child;
    for (const pipe of this.pipes()) pipe.on('error', () => undefined); // its end is reported above
    stdout!.on('data', (part: Buffer) => this.heard(part));
    stderr!.on('data', (part: Buffer) => (this.complained = clip(this.complained + part.toString())));
    this.child.stdio[3]!.on('data', (part: Buffer) => (this.said = clip(this.said + part.toString())));
    stdin!.write(guestOpening(source, limits));
    this.rest();
  }

  get isAlive(): boolean {
    return this.alive;
  }

  /** Compiles the module; once, before the first run. Returns why it cannot be; null: it can. */
  async compile(module: Uint8Array, signal: AbortSignal): Promise<string | null> {
    const { head } = await this.ask(encodeFrame({}, module), NO_BYTES, signal);
    const { error } = head as { error?: unknown };
    return error === undefined ? null : String(error);
  }

  async run(call: Call, signal: AbortSignal): Promise<RunOutcome> {
    // One byte more than is kept says that something was cut off.
    const limits = { head: HEAD_BYTES, first: call.stdoutBytes + 1, second: call.stderrBytes + 1 };
    try {
      return outcomeOf(await this.ask(encodeFrame(call), limits, signal));
    } catch (error) {
      return nodeFailure((error as Error).message);
    }
  }

  kill(): void {
    this.alive = false;
    this.child.kill('SIGKILL');
    this.child.ref(); // this process sees it end
  }

  /** This process may end while nothing is asked. */
  private rest(): void {
    if (this.alive) this.child.unref();
    for (const pipe of this.pipes()) pipe.unref();
  }

  private pipes(): Socket[] {
    return this.child.pid === undefined ? [] : (this.child.stdio.slice(0, 4) as unknown[] as Socket[]);
  }

  private async ask(frame: Buffer, limits: FrameLimits, signal: AbortSignal): Promise<Frame> {
    if (!this.alive) throw new Error(this.endedBy ?? 'the process of the module was ended');
    const interrupt = (): void => this.fail(`interrupted: ${describeReason(signal)}`);
    this.child.ref();
    for (const pipe of this.pipes()) pipe.ref();
    try {
      return await new Promise<Frame>((answered, failed) => {
        this.asked = { limits, answered, failed };
        if (signal.aborted) return interrupt();
        signal.addEventListener('abort', interrupt);
        if (this.child.pid !== undefined) this.child.stdin!.write(frame);
      });
    } finally {
      signal.removeEventListener('abort', interrupt);
      this.rest();
    }
  }

  private heard(part: Buffer): void {
    const { asked } = this;
    if (asked === null) return this.fail('the process of the module answered what was not asked');
    try {
      const frame = this.frames.add(part, asked.limits);
      if (frame === null) return;
      this.asked = null;
      asked.answered(frame);
    } catch (error) {
      this.fail((error as Error).message);
    }
  }

  /** Ends the process, too: after this nothing that it answers is what was asked. */
  private fail(message: string): void {
    const { asked } = this;
    this.asked = null;
    this.endedBy ??= message;
    this.kill();
    asked?.failed(new Error(message));
  }

  private reason(): string {
    const reason = this.said || (/fatal.*/i.exec(this.complained) ?? /\w.*/.exec(this.complained))?.[0];
    return reason ? `: ${reason.slice(0, REASON_CHARS)}` : '';
  }
}

const clip = (text: string): string => text.slice(0, SAID_CHARS);
const describeReason = ({ reason }: AbortSignal): string =>
  String((reason as Error | undefined)?.message ?? (reason as unknown));

/** The answer of a process that may have been taken over: anything else than numbers is dropped. */
const outcomeOf = ({ head, first, second }: Frame): RunOutcome => {
  const answer = head as Answer;
  const [stdout, stderr] = [first.toString(), second.toString()];
  const used = {
    ...(isCount(answer.cpuMs) ? { cpuMs: answer.cpuMs } : {}),
    ...(isCount(answer.memoryBytes) ? { memoryBytes: answer.memoryBytes } : {}),
    stdoutBytes: isCount(answer.stdoutTotal) ? answer.stdoutTotal : first.length,
    stderrBytes: isCount(answer.stderrTotal) ? answer.stderrTotal : second.length,
  };
  const { exitCode, error } = answer;
  if (error === undefined && Number.isInteger(exitCode) && exitCode === (exitCode! | 0))
    return { ...used, exitCode, stdout, stderr };
  return { ...nodeFailure(String(error ?? 'the module ended without an exit code'), stdout, stderr), ...used };
};

const isCount = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < Infinity;
