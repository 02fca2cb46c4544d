import { signLook } from '../../postgres/sweeper/overdueWork';
import type { Pool } from '../../postgres/pool';

/**
 * Time between two signs of a look that goes on, and before the first sign of one that has no
 * answer yet.
 */
const EVERY_MS = 10_000;

/**
 * Writes to the store that a look of a monitor or the notifier makes progress: overdue work is
 * being handled. That a look began is no sign: on a machine that stops or starves its workers, look
 * after look may begin and end before its first request.
 */
export class LookSign {
  private readonly begunAt = performance.now();
  private givenAt = -Infinity;

  constructor(
    private readonly pool: Pool,
    private readonly resource: string,
  ) {}

  /** Signs a look in progress: it may be waiting for a slow answer. */
  beat(): void {
    if (performance.now() - this.begunAt >= EVERY_MS) this.give();
  }

  /**
   * Signs that a request was sent and answered. Returns at once. A sign that fails is followed by
   * the next: only what is reported about the run depends on it.
   */
  give(): void {
    const now = performance.now();
    if (now - this.givenAt < EVERY_MS) return;
    this.givenAt = now;
    signLook(this.pool, this.resource).catch(() => (this.givenAt = -Infinity));
  }
}
