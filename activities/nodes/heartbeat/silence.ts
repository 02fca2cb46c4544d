import type { SignOfLife } from './shared';

/**
 * Measures for how long the main thread has given no sign of life, as the heartbeat thread saw it,
 * look by look. Time in which this thread did not run either, because the process was stopped or
 * the machine was asleep, does not count.
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
