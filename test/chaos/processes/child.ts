import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Order } from '../points';

/**
 * A process of the harness: lines come from its stdout, orders go over its IPC channel, its stderr
 * into a file of the run.
 */
export class Child {
  readonly exited: Promise<string>;
  ended = false;
  private readonly process: ChildProcess;

  constructor(script: string, args: readonly string[], log: string, onLine: (line: Record<string, unknown>) => void) {
    const stderr = openSync(log, 'a');
    this.process = fork(path.join(__dirname, '..', script), args, { stdio: ['ignore', 'pipe', stderr, 'ipc'] });
    closeSync(stderr);
    createInterface({ input: this.process.stdout! }).on('line', (line) => {
      if (line.startsWith('{')) onLine(JSON.parse(line) as Record<string, unknown>);
    });
    this.process.on('error', () => undefined); // an order to a process that was just killed
    this.exited = new Promise((resolve) =>
      this.process.once('exit', (code, signal) => {
        this.ended = true;
        resolve(signal ?? `code ${code}`);
      }),
    );
  }

  get pid(): number {
    return this.process.pid!;
  }

  order(order: Order): void {
    if (!this.ended && this.process.connected) this.process.send(order, () => undefined);
  }

  /** Straight to the process: `ChildProcess.kill` would call it killed for good after a SIGSTOP. */
  signal(signal: NodeJS.Signals): void {
    if (!this.ended) process.kill(this.pid, signal);
  }
}
