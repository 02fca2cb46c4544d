import { withRetries } from '../../postgres/errors';
import { Coalescer } from '../../postgres/sharing/coalescer';
import type { Pool } from '../../postgres/pool';
import { lowerDue, wakeLeaders } from '../../postgres/grouping/ring';
import { wakeLeaderWorkflows } from '../../workflows/wake';
import type { Behind } from '../../workflows/behind';

/**
 * Rings the leaders of targets after commits. Makes one ring at a time per client: targets that
 * arrive meanwhile share the next ring, which makes submits to a hot target many times faster. A
 * wake in progress does not delay later rings. A failed ring never fails a submit, since the
 * sweeper repeats it.
 */
export class Ringer {
  private readonly coalescer = new Coalescer<number>((ids) => this.ringNow(ids));

  constructor(
    private readonly pool: Pool,
    private readonly behind: Behind,
    private readonly prefix: string,
    private readonly leaseMs: number,
  ) {}

  /** Resolves when a ring that began after this call has ended, or when that takes too long. */
  ring(targetIds: Iterable<number>): Promise<void> {
    const ids = [...targetIds];
    return ids.length === 0 ? Promise.resolve() : this.behind.follow(() => this.coalescer.add(ids));
  }

  private async ringNow(ids: readonly number[]): Promise<void> {
    await withRetries(() => lowerDue(this.pool, ids));
    const leaders = await withRetries(() => wakeLeaders(this.pool, ids, this.leaseMs));
    if (leaders.length > 0) await this.behind.wake((temporal) => wakeLeaderWorkflows(temporal, this.prefix, leaders));
  }
}
