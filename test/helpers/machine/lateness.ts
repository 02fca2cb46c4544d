import { setTimeout as sleep } from 'node:timers/promises';

const EVERY_MS = 25;

/**
 * Measures by how much the machine is late, for tests of promises in wall time: repeats a rest of
 * 25 ms and a read, and what takes longer than twice that is not the product's.
 */
export class Lateness {
  private readonly late: { endedAt: number; ms: number }[] = [];
  private going = true;
  private readonly loop: Promise<void>;

  /** `read`: a short statement, where the promise depends on the database as well. */
  constructor(private readonly read: () => Promise<unknown> = () => Promise.resolve()) {
    this.loop = this.run();
  }

  /** Returns the sum since a moment of `performance.now()` (ms). */
  since(fromMs: number): number {
    return this.late.reduce((sum, one) => sum + (one.endedAt > fromMs ? one.ms : 0), 0);
  }

  async stop(): Promise<void> {
    this.going = false;
    await this.loop;
  }

  private async run(): Promise<void> {
    while (this.going) {
      const begunAt = performance.now();
      await sleep(EVERY_MS);
      await this.read().catch(() => (this.going = false)); // a test that failed has closed its database
      const endedAt = performance.now();
      const ms = endedAt - begunAt - 2 * EVERY_MS;
      if (ms > 0) this.late.push({ endedAt, ms });
    }
  }
}
