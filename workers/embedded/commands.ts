import { execFile } from 'node:child_process';
import { serverEnvironment } from './paths';

/** User as whom a command runs; undefined means: as ourselves. */
export interface User {
  name: string;
  uid: number;
  gid: number;
}

export interface CommandResult {
  ok: boolean;
  stdout: string;
  /** Why it failed, in one line fit for a list of reasons; empty when ok. */
  reason: string;
  /** It failed by taking too long, which says nothing about the program. */
  timedOut: boolean;
}

export interface CommandOptions {
  timeoutMs: number;
  user?: User;
  cwd?: string;
}

/**
 * Runs a command to its end. A failure, even "no such program", is an answer and not an exception.
 */
export function runCommand(file: string, args: string[], options: CommandOptions): Promise<CommandResult> {
  const { timeoutMs: timeout, user, cwd } = options;
  const ids = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  const startedAt = performance.now();
  return new Promise((resolve) => {
    try {
      execFile(file, args, { timeout, cwd, env: serverEnvironment(), ...ids }, (error, stdout, stderr) => {
        // Where this process itself stood still, Node throws the output away at the time limit, and
        // reports the exit code of a command that had long ended well.
        const timedOut = error?.killed === true || (error === null && performance.now() - startedAt >= timeout);
        const reason = timedOut ? `gave up after ${timeout / 1000} s` : error === null ? '' : reasonOf(error, stderr);
        resolve({ ok: error === null && !timedOut, stdout, reason, timedOut });
      });
    } catch (error) {
      resolve({ ok: false, stdout: '', reason: String(error), timedOut: false });
    }
  });
}

function reasonOf(error: Error, stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  // Tools end with a hint or a notice about themselves; the cause is the last line that calls
  // itself an error.
  const told = lines.findLast((line) => /^\s*error/i.test(line)) ?? lines.at(-1) ?? error.message;
  return told.trim().slice(0, 300);
}
