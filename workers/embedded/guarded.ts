/**
 * How a guarded process ended: its code, or the signal that ended it, or why it could not be
 * started.
 */
export interface Exit {
  code?: number | null;
  signal?: NodeJS.Signals | null;
  error?: string;
}

/** What the guardian tells: one of these at a time. */
export interface GuardianMessage {
  pid?: number;
  output?: string;
  exit?: Exit;
}

/** Lines kept for an error message. */
const RECENT_LINES = 20;

/** One process under a guardian, as far as the guardian's messages tell. */
export class GuardedProcess {
  pid: number | undefined;
  exit: Exit | undefined;
  readonly exited: Promise<Exit>;
  /** Resolves when it runs; rejects if it could not be started. */
  readonly started: Promise<void>;
  private readonly recent: string[] = [];
  private unfinishedLine = '';
  private onStarted!: () => void;
  private onNotStarted!: (error: Error) => void;
  private onExited!: (exit: Exit) => void;

  constructor(
    private readonly file: string,
    private readonly log?: (line: string) => void,
  ) {
    this.exited = new Promise((resolve) => (this.onExited = resolve));
    this.started = new Promise((resolve, reject) => {
      this.onStarted = resolve;
      this.onNotStarted = reject;
    });
    // A caller that awaits `started` gets the error; there may be none any more.
    this.started.catch(() => undefined);
  }

  /** Its last output lines, oldest first. */
  recentLines(): string[] {
    return [...this.recent, this.unfinishedLine].filter((line) => line.trim() !== '');
  }

  /** Says whether one of its last lines matches. */
  hasSaid(line: RegExp): boolean {
    return this.recentLines().some((said) => line.test(said));
  }

  take(message: GuardianMessage): void {
    if (message.output !== undefined) {
      this.keep(message.output);
    } else if (message.pid !== undefined) {
      this.pid = message.pid;
      this.onStarted();
    } else if (message.exit !== undefined) {
      this.ended(message.exit);
    }
  }

  /**
   * Handles that the guardian is gone. It stops its server first, unless it was killed itself: then
   * the server is ours to end.
   */
  guardianGone(): void {
    this.kill();
    this.ended({ error: 'its guardian process ended' });
  }

  /** SIGKILL, at once and without the guardian: a crash. */
  kill(): void {
    if (this.pid === undefined || this.exit !== undefined) {
      return;
    }
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch {
      // It ended a moment ago and the news is still on its way.
    }
  }

  private ended(exit: Exit): void {
    this.exit ??= exit;
    this.onExited(this.exit);
    this.onNotStarted(new Error(`${this.file} cannot be started: ${this.exit.error ?? 'it ended at once'}`));
  }

  private keep(text: string): void {
    const lines = (this.unfinishedLine + text).split('\n');
    this.unfinishedLine = lines.pop() ?? '';
    for (const line of lines) {
      this.recent.push(line);
      this.log?.(line);
    }
    this.recent.splice(0, this.recent.length - RECENT_LINES);
  }
}
