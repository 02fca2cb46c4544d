import { signLook } from '../../postgres/sweeper/overdueWork';
import type { Pool } from '../../postgres/pool';

/** Between two signs of a look that goes on, and before the first of one that had no answer yet. */
const EVERY_MS = 10_000;

/**
 * Tells the store that a look of a monitor or the notifier gets on: what is overdue meanwhile is
 * being worked on. That a look began is no sign: on a machine that stops or starves its workers
 * look after look may begin and end before its first question.
 */
export class LookSign {
  private readonly begunAt = performance.now();
  private givenAt = -Infinity;

  constructor(
    private readonly pool: Pool,
    private readonly resource: string,
  ) {}

  /** Signs a look that is under way: it may be waiting for a slow answer. */
  beat(): void {
    if (performance.now() - this.begunAt >= EVERY_MS) this.give();
  }

  /**
   * Signs that something was asked, or sent, and answered. Returns at once. A sign that fails is
   * followed by the next: nothing rests on it but what is told of the run.
   */
  give(): void {
    const now = performance.now();
    if (now - this.givenAt < EVERY_MS) return;
    this.givenAt = now;
    signLook(this.pool, this.resource).catch(() => (this.givenAt = -Infinity));
  }
}
