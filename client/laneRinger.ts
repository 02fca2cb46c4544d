import type { Client } from '@temporalio/client';
import { Gather } from '../postgres/gather';
import { markReady } from '../postgres/lane';
import type { Pool } from '../postgres/pool';
import { queuersOf, wakeQueuers } from '../postgres/queuer';
import { WAKE_LEASE_MS } from '../postgres/ring';
import { wakeQueuerWorkflows } from '../workflows/wake';

/** `Ringer` for lanes, after commits: R1, then R2, each a statement of its own, then the wake. Never throws: the sweeper repeats it. */
export class LaneRinger {
  private readonly gather = new Gather<number>((ids) => this.ringNow(ids));

  constructor(
    private readonly pool: Pool,
    private readonly temporal: () => Promise<Client>,
    private readonly prefix: string,
    private readonly onFailure: (error: Error) => void,
  ) {}

  /** Resolves when a ring that began after this call has ended. */
  ring(laneIds: Iterable<number>): Promise<void> {
    return this.gather.add(laneIds);
  }

  /** Resolves when all rings that were asked for so far have ended. */
  idle(): Promise<void> {
    return this.gather.idle();
  }

  private async ringNow(ids: readonly number[]): Promise<void> {
    try {
      await markReady(this.pool, ids);
      await this.wake(await queuersOf(this.pool, ids));
    } catch (error) {
      this.onFailure(error as Error);
    }
  }

  /** R2 alone: what became eligible is marked already, or it is the submitters that changed. */
  async wake(queuerIds: readonly number[]): Promise<void> {
    try {
      const woken = await wakeQueuers(this.pool, queuerIds, WAKE_LEASE_MS);
      if (woken.length === 0) return;
      const failure = await wakeQueuerWorkflows(await this.temporal(), this.prefix, woken);
      if (failure !== null) this.onFailure(failure);
    } catch (error) {
      this.onFailure(error as Error);
    }
  }
}
