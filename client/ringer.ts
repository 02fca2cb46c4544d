import type { Client } from '@temporalio/client';
import { withRetries } from '../postgres/errors';
import type { Pool } from '../postgres/pool';
import { lowerDue, wakeLeaders } from '../postgres/ring';
import { wakeLeaderWorkflows } from '../workflows/wake';

/**
 * Rings after commits: one ring in flight per client, targets that come meanwhile share the next (store.md section 1: 9,916 submits/s
 * on one hot target against 635 without). A ring that fails never fails a submit: the sweeper repeats it.
 */
export class Ringer {
  private waiting = new Set<number>();
  private flight: Promise<void> | null = null;

  constructor(
    private readonly pool: Pool,
    private readonly temporal: () => Promise<Client>,
    private readonly prefix: string,
    private readonly leaseMs: number,
    private readonly onFailure: (error: Error) => void,
  ) {}

  /** Resolves when a ring that began after this call has ended. */
  async ring(targetIds: Iterable<number>): Promise<void> {
    for (const id of targetIds) this.waiting.add(id);
    while (this.flight !== null) {
      await this.flight;
      if (this.waiting.size === 0) return; // ours were in the flight that another waiter started
    }
    if (this.waiting.size === 0) return;
    const ids = [...this.waiting];
    this.waiting.clear();
    this.flight = this.ringNow(ids).finally(() => {
      this.flight = null;
    });
    await this.flight;
  }

  /** Resolves when all rings that were asked for so far have ended. */
  async idle(): Promise<void> {
    while (this.flight !== null || this.waiting.size > 0) await this.ring([]);
  }

  private async ringNow(ids: readonly number[]): Promise<void> {
    try {
      await withRetries(() => lowerDue(this.pool, ids));
      const leaders = await withRetries(() => wakeLeaders(this.pool, ids, this.leaseMs));
      if (leaders.length === 0) return;
      const failure = await wakeLeaderWorkflows(await this.temporal(), this.prefix, leaders);
      if (failure !== null) this.onFailure(failure);
    } catch (error) {
      this.onFailure(error as Error);
    }
  }
}
