import { existsSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { Arming, Order, Point, Report, Variant } from '../points';

/**
 * A line to the harness, written before this returns: the next thing that happens to us may be
 * SIGKILL.
 */
export const say = (line: object): void => {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
};

/**
 * A child's end of the line to the harness: is told which point to stop at, stops there once, waits
 * for death or for `go`.
 */
export class Post {
  private armed: Arming | null = null;
  private readonly waiting = new Map<string, (lost: boolean) => void>();

  constructor(
    private readonly runDir: string,
    other: (order: Order) => void = () => undefined,
  ) {
    process.on('message', (order: Order) => {
      if ('arm' in order) this.armed = order;
      else if ('disarm' in order) this.armed = null;
      else if ('go' in order) this.waiting.get(order.go)?.(order.lost ?? false);
      else other(order);
    });
    // The harness is gone: nothing of ours may stay.
    process.on('disconnect', () => process.exit(3));
  }

  isArmed(point: Point, variant?: Variant): boolean {
    return this.armed?.arm === point && (variant === undefined || this.armed.variant === variant);
  }

  /** Reports and stays here. Answers true where the result of what was done is to get lost. */
  async stay(report: Omit<Report, 'token'>): Promise<boolean> {
    const token = this.take();
    const gone = new Promise<boolean>((resolve) => this.waiting.set(token, resolve));
    say({ ...report, token });
    return gone.finally(() => this.waiting.delete(token));
  }

  /** The same with the whole process standing still: `go` is a file. */
  stayStill(report: Omit<Report, 'token'>): void {
    const token = this.take();
    say({ ...report, token });
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const deadline = Date.now() + 120_000;
    while (!existsSync(path.join(this.runDir, `go-${token}`)) && Date.now() < deadline) Atomics.wait(cell, 0, 0, 20);
  }

  private take(): string {
    const { token } = this.armed!;
    this.armed = null;
    return token;
  }
}
