import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import type { User } from './commands';
import { GuardedProcess, type GuardianMessage } from './guarded';
import { GUARD_SOURCE } from './guardSource';
import { serverEnvironment } from './paths';

export interface GuardedCommand {
  file: string;
  args: string[];
  cwd?: string;
  user?: User;
  /** What asks the process to stop in order; SIGKILL follows after `graceMs`. */
  stopSignal: NodeJS.Signals;
  graceMs: number;
}

/**
 * Keeps one process at a time, under a guardian process (`guardSource.ts`), so that nothing stays
 * behind when this process ends: by return, by exit, by Ctrl-C, by SIGTERM or by SIGKILL. The
 * guardian has a separate session, so Ctrl-C in the terminal reaches neither it nor the server. A
 * guard keeps this process alive until `release`, so that a start can be awaited.
 */
export class Guard {
  private readonly guardian: ChildProcess;
  private readonly gone: Promise<void>;
  private current: GuardedProcess | undefined;

  /** `remove`: files and directories that are removed when the guardian ends, whatever ended it. */
  constructor(
    private readonly remove: string[],
    private readonly log?: (line: string) => void,
  ) {
    this.guardian = spawn(process.execPath, ['-e', GUARD_SOURCE, JSON.stringify(remove)], {
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: serverEnvironment(),
      // Not the caller's directory, which may be removed or unmounted while the server runs.
      cwd: '/',
    });
    this.guardian.on('message', (message) => this.current?.take(message as GuardianMessage));
    this.gone = new Promise<void>((resolve) => {
      this.guardian.once('exit', () => resolve());
      this.guardian.on('error', () => resolve());
    }).then(() => this.afterGuardian());
  }

  /** Also removes `path` at the end: for what is made after the guardian started. */
  alsoRemove(path: string): void {
    this.remove.push(path);
    this.send({ remove: path });
  }

  /** Starts a process; the one before must have exited. Rejects if it cannot be started at all. */
  async run(command: GuardedCommand): Promise<GuardedProcess> {
    const { file, args, cwd, user, stopSignal, graceMs } = command;
    const guarded = new GuardedProcess(file, this.log);
    this.current = guarded;
    const options = { cwd, uid: user?.uid, gid: user?.gid };
    this.send({ start: { file, args, options, stopSignal, graceMs } });
    await guarded.started;
    return guarded;
  }

  /**
   * From now on this process may end without having stopped the server; the guardian then does it.
   */
  release(): void {
    this.keepAlive(false);
  }

  /**
   * Stops what runs, removes what is to be removed, and resolves when the guardian itself is gone.
   * May be called again.
   */
  async stop(): Promise<void> {
    this.keepAlive(true);
    this.send({ end: true });
    await this.gone;
  }

  private send(message: object): void {
    if (this.guardian.connected) {
      // A failure to send means that the guardian is gone, which `gone` tells.
      this.guardian.send(message, () => undefined);
    }
  }

  private keepAlive(yes: boolean): void {
    const change = yes ? 'ref' : 'unref';
    this.guardian[change]();
    this.guardian.channel?.[change]();
  }

  private afterGuardian(): void {
    this.current?.guardianGone();
    for (const path of this.remove) {
      rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }
  }
}
