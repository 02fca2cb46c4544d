import { signLook } from '../../postgres/sweeper/overdueWork';
import type { Pool } from '../../postgres/pool';

/** Between two signs of a look that goes on. */
const EVERY_MS = 10_000;

/**
 * Tells the store that a look of a monitor or the notifier is under way: what is overdue meanwhile
 * is being worked on.
 */
export class LookSign {
  private givenAt = -Infinity;

  constructor(
    private readonly pool: Pool,
    private readonly resource: string,
  ) {}

  /**
   * Returns at once. One that fails is followed by the next: nothing rests on it but what is told
   * of the run.
   */
  give(): void {
    const now = performance.now();
    if (now - this.givenAt < EVERY_MS) return;
    this.givenAt = now;
    signLook(this.pool, this.resource).catch(() => (this.givenAt = -Infinity));
  }
}
