import { Coalescer } from '../../postgres/sharing/coalescer';
import { markReady } from '../../postgres/lanes/lane';
import type { Pool } from '../../postgres/pool';
import { queuersOf, wakeQueuers } from '../../postgres/lanes/queuer';
import { WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import { wakeQueuerWorkflows } from '../../workflows/wake';
import type { Behind } from '../../workflows/behind';

/**
 * Rings lanes after commits, as `Ringer` rings targets: marks the lanes as ready and their queuers
 * as working, each in a separate statement, and then wakes the queuers. Never throws, since the
 * sweeper repeats a failed ring.
 */
export class LaneRinger {
  private readonly coalescer = new Coalescer<number>((ids) => this.ringNow(ids));

  constructor(
    private readonly pool: Pool,
    private readonly behind: Behind,
    private readonly prefix: string,
  ) {}

  /** Resolves when a ring that began after this call has ended, or when that takes too long. */
  ring(laneIds: Iterable<number>): Promise<void> {
    const ids = [...laneIds];
    return ids.length === 0 ? Promise.resolve() : this.behind.follow(() => this.coalescer.add(ids));
  }

  /**
   * Wakes queuers without marking lanes, which are marked already, or whose submitters have
   * changed.
   */
  wake(queuerIds: readonly number[]): Promise<void> {
    return this.behind.follow(() => this.wakeNow(queuerIds));
  }

  private async ringNow(ids: readonly number[]): Promise<void> {
    await markReady(this.pool, ids);
    await this.wakeNow(await queuersOf(this.pool, ids));
  }

  private async wakeNow(queuerIds: readonly number[]): Promise<void> {
    const woken = await wakeQueuers(this.pool, queuerIds, WAKE_LEASE_MS);
    if (woken.length > 0) await this.behind.wake((requests) => wakeQueuerWorkflows(requests, this.prefix, woken));
  }
}
