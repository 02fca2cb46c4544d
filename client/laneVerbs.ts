import type { Client as TemporalClient } from '@temporalio/client';
import type { Handler } from '../activities/handlers/types';
import { findLanes } from '../postgres/lane';
import type { Pool } from '../postgres/pool';
import type { BatchInput } from './checkBatch';
import type { TaskInput } from './checkTasks';
import type { LaneRinger } from './laneRinger';
import type { Submitter } from './submit';
import type { SubmitBatchOptions, SubmittedBatch } from './submitBatch';
import { storeBatches } from './submitBatch';

/** What a client can do with lanes. */
export abstract class LaneVerbs {
  abstract readonly pool: Pool;
  abstract readonly prefix: string;
  protected abstract readonly schema: string;
  protected abstract readonly submitter: Submitter;
  protected abstract readonly laneRinger: LaneRinger;
  abstract handler(name: string): Handler;
  abstract ready(): Promise<void>;
  abstract temporal(): Promise<TemporalClient>;

  /**
   * Submits one batch to a lane: sent as it is, after all that was submitted to its service before (C1). Resolves when accepted: committed.
   * After a submit with `tx`: `ringLanes([service])` once it has committed, or wait for the sweeper (5 s at most).
   */
  async submitBatch(
    handler: string,
    service: string,
    items: readonly TaskInput[],
    options: Omit<BatchInput, 'service' | 'items'> & SubmitBatchOptions = {},
  ): Promise<SubmittedBatch> {
    const { tx, ...rest } = options;
    const [batch] = await this.submitBatches(handler, [{ ...rest, service, items }], tx === undefined ? {} : { tx });
    return batch!;
  }

  /** Several batches in one transaction, in this order: all are accepted or none. At most 1,000. */
  async submitBatches(
    handlerName: string,
    batches: readonly BatchInput[],
    options: SubmitBatchOptions = {},
  ): Promise<SubmittedBatch[]> {
    const handler = this.handler(handlerName);
    await this.ready();
    const stored = await storeBatches({ submitter: this.submitter, schema: this.schema }, handler, batches, options);
    if (options.tx === undefined) await this.laneRinger.ring(stored.laneIds);
    return stored.batches;
  }

  /** Tells the queuer to look at these services; never throws. For after a `submitBatch` with `tx`. */
  async ringLanes(services: readonly string[]): Promise<void> {
    const lanes = await findLanes(this.pool, services).catch(() => []);
    await this.laneRinger.ring(lanes.map(({ id }) => id));
  }
}
