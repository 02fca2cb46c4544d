import { workOffEnded } from '../../../activities/grouping/dependents';
import type { Pool } from '../../../postgres/pool';
import type { Caller } from './caller';
import type { Claims } from './claim';
import type { Tables } from './tables';
import type { Work } from './work';
import type { BatchRow } from './rows';

/** The leaders of a simulated store: what they claim is called at once, or when a rate lets it. */
export class QueueWork implements Work {
  constructor(
    private readonly tables: Tables,
    private readonly pool: Pool,
    private readonly claims: Claims,
    private readonly caller: Caller,
  ) {}

  async step(): Promise<boolean> {
    const due = this.startable();
    const batches = due.length > 0 ? due : this.claims.take();
    // Of tasks that end unsent with the claim.
    if (this.tables.ended.length > 0) await workOffEnded(this.pool);
    for (const batch of batches) if ((batch.retryAtMs ?? 0) <= this.tables.nowMs) await this.caller.call(batch);
    return batches.length > 0;
  }

  nextAtMs(afterMs: number): number {
    const heldMs = this.claims.heldUntilMs();
    let next = Infinity;
    const consider = (atMs: number): void => {
      if (atMs > afterMs && atMs < next) next = atMs;
    };
    for (const target of this.tables.targets.values()) {
      consider(Math.max(heldMs, this.claims.dueAtMs(target)));
      for (const batch of target.batches) if (batch.carried) consider(batch.retryAtMs ?? 0);
    }
    return next;
  }

  /** Returns batches that a dispatch has and that may start now. */
  private startable(): BatchRow[] {
    const due: BatchRow[] = [];
    for (const target of this.tables.targets.values())
      for (const batch of target.batches)
        if (batch.carried && (batch.retryAtMs ?? 0) <= this.tables.nowMs) due.push(batch);
    return due.sort((a, b) => a.id - b.id);
  }
}
