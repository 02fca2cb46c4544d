import type { SignOfLife } from './shared';

/**
 * For how long the main thread has given no sign of life, as the heartbeat thread saw it, look by
 * look. Time in which this thread did not run either, the process being stopped or the machine
 * asleep, is not held against the main thread.
 */
export class Silence {
  private last: number;
  private silentMs = 0;
  private lookedAt: number;

  constructor(
    private readonly signOfLife: SignOfLife,
    private readonly everyMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.last = signOfLife.read();
    this.lookedAt = now();
  }

  look(): number {
    const now = this.now();
    const passed = Math.min(now - this.lookedAt, 3 * this.everyMs);
    this.lookedAt = now;
    const count = this.signOfLife.read();
    this.silentMs = count === this.last ? this.silentMs + passed : 0;
    this.last = count;
    return this.silentMs;
  }
}
