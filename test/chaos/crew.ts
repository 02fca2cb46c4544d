import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from './processes/child';
import type { Order, Report } from './points';
import type { Reaper } from './reaper';

/**
 * Stopped for this long: past a leader's lease (5 s), an activity's heartbeat (10 s) and a mark's
 * deadline (12 s).
 */
export const STOP_MS = 14_000;

/** One place of a process: whoever fills it, killed and replaced as a supervisor would. */
export class Place {
  child: Child | null = null;
  ready = false;
  stopped = false;
  /** Deaths that nobody planned. */
  crashes = 0;
  private closing = false;
  private expected = false;

  constructor(
    readonly label: string,
    private readonly script: string,
    private readonly args: () => unknown,
    private readonly runDir: string,
    private readonly reaper: Reaper,
    private readonly onLine: (place: Place, line: Record<string, unknown>) => void,
  ) {}

  start(): void {
    this.ready = false;
    this.expected = false;
    const args = this.args();
    const errors = path.join(this.runDir, `${this.label}.err`);
    const child = new Child(this.script, [typeof args === 'string' ? args : JSON.stringify(args)], errors, (line) => {
      if (line['ready'] === true) this.ready = true;
      this.onLine(this, line);
    });
    this.child = child;
    this.reaper.track(child.pid);
    void child.exited.then((how) => {
      this.reaper.forget(child.pid);
      this.ready = false;
      if (this.expected || this.closing) return;
      this.crashes++;
      process.stderr.write(`${this.label} ended by itself: ${how}\n${readFileSync(errors, 'utf8').slice(-4_000)}\n`);
      setTimeout(() => this.start(), 500);
    });
  }

  isHealthy(): boolean {
    return this.ready && !this.stopped && this.child?.ended === false;
  }

  order(order: Order): void {
    this.child?.order(order);
  }

  async kill(restartAfterMs: number): Promise<void> {
    this.expected = true;
    this.ready = false;
    this.child!.signal('SIGKILL');
    await this.child!.exited;
    void sleep(restartAfterMs).then(() => (this.closing ? undefined : this.start()));
  }

  /** Stands still past every lease, then goes on where it was. */
  stop(token: string): void {
    this.stopped = true;
    const victim = this.child!;
    victim.signal('SIGSTOP');
    this.go(token);
    setTimeout(() => {
      victim.signal('SIGCONT');
      this.stopped = false;
    }, STOP_MS);
  }

  /** The same for `ms`, wherever it is. */
  async freeze(ms: number): Promise<void> {
    this.stopped = true;
    const victim = this.child!;
    victim.signal('SIGSTOP');
    await sleep(ms);
    victim.signal('SIGCONT');
    this.stopped = false;
  }

  /** Lets a victim go on, by message and, for one whose thread stands still, by file. */
  go(token: string, lost = false): void {
    writeFileSync(path.join(this.runDir, `go-${token}`), '');
    this.order({ go: token, lost });
  }

  async close(): Promise<void> {
    this.closing = true;
    this.child?.signal('SIGKILL');
    await this.child?.exited;
  }
}

export type Reported = Report & { place: Place };
