import type { Handler } from '../../handlers/types';
import { findLanes } from '../../postgres/lanes/lane';
import { setQueuersPaused } from '../../postgres/lanes/control';
import type { Pool } from '../../postgres/pool';
import { wakeGivenUp } from '../operations/cancellation';
import type { BatchInput } from './checkBatch';
import { FanoutVerbs } from '../fanouts/verbs';
import type { TaskInput } from '../tasks/checkTasks';
import * as control from './control';
import type { LaneRinger } from './ringer';
import * as views from './views';
import type { Receipt } from './receipts';
import { receipts } from './receipts';
import type { TaskInserter } from '../tasks/taskInserter';
import type { SubmitBatchOptions, SubmittedBatch } from './submitBatch';
import { storeBatches } from './submitBatch';
import { CHANGE, SUBMIT, telling } from '../tasks/telling';

/** A client's verbs for lanes. */
export abstract class LaneVerbs extends FanoutVerbs {
  abstract override readonly pool: Pool;
  abstract override readonly prefix: string;
  protected abstract readonly schema: string;
  protected abstract readonly inserter: TaskInserter;
  protected abstract readonly laneRinger: LaneRinger;
  abstract handler(name: string): Handler;
  abstract override ready(): Promise<void>;

  /**
   * Submits one batch to a lane: sent as it is, after all that was submitted to its service before.
   * Resolves when accepted: committed. After a submit with `tx`: call `ringLanes([service])` once
   * it has committed, or wait for the sweeper (5 s at most).
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

  /**
   * Submits several batches in one transaction, in this order: all are accepted or none. At most
   * 1,000.
   */
  async submitBatches(
    handlerName: string,
    batches: readonly BatchInput[],
    options: SubmitBatchOptions = {},
  ): Promise<SubmittedBatch[]> {
    const handler = this.handler(handlerName);
    const stored = await telling(SUBMIT, async () => {
      await this.ready();
      return storeBatches({ inserter: this.inserter, schema: this.schema }, handler, batches, options);
    });
    if (options.tx === undefined) await this.laneRinger.ring(stored.laneIds);
    return stored.batches;
  }

  /** Tells the queuer to look at these lanes; never throws. */
  ringLaneIds(laneIds: Iterable<number>): Promise<void> {
    return this.laneRinger.ring(laneIds);
  }

  /**
   * Tells the queuer to look at these services; never throws. For use after a `submitBatch` with
   * `tx`.
   */
  async ringLanes(services: readonly string[]): Promise<void> {
    const lanes = await findLanes(this.pool, services).catch(() => []);
    await this.laneRinger.ring(lanes.map(({ id }) => id));
  }

  /** Returns a page of lanes, by service: depth, age, state and why, share of the submitters. */
  async lanes(options?: views.LanesOptions): Promise<views.LaneView[]> {
    await this.ready();
    return views.lanes(this.pool, options);
  }

  /**
   * Returns one lane with its first open batches, 20 unless `batches` (0 to 1,000) says otherwise.
   * Throws `NotFoundError`.
   */
  async lane(
    service: string,
    options?: { batches?: number },
  ): Promise<views.LaneView & { batches: views.LaneBatchView[] }> {
    await this.ready();
    return views.lane(this.pool, service, options);
  }

  /** Returns where a batch stands in its lane; null: no batch of this id stands or stood in one. */
  async batchStatus(batch: number): Promise<views.LaneBatchView | null> {
    await this.ready();
    return views.batchStatus(this.pool, batch);
  }

  /**
   * Returns the downstream's report on each item of a batch: valid, or invalid with message and
   * data.
   */
  async receipts(batch: number): Promise<Receipt[]> {
    await this.ready();
    return receipts(this.pool, batch);
  }

  /** Returns who is granted the submitters: slots, grants, strategy. */
  async queuer(): Promise<views.QueuerView[]> {
    await this.ready();
    return views.queuers(this.pool);
  }

  /** Stops a lane until it is resumed; what is in flight ends. Throws `NotFoundError`. */
  async pauseLane(service: string, reason = 'paused by hand'): Promise<void> {
    await this.change(() => control.pauseLane(this.pool, service, reason));
  }

  /** Lets a paused lane continue. Throws `NotFoundError`. */
  async resumeLane(service: string): Promise<void> {
    await this.laneRinger.ring(await this.change(() => control.resumeLane(this.pool, service)));
  }

  /** Stops all lanes: none is granted a submitter. */
  async pauseQueuer(reason = 'paused by hand'): Promise<void> {
    await this.change(() => setQueuersPaused(this.pool, control.checkReason(reason)));
  }

  /** Lets all lanes continue that are not paused themselves. */
  async resumeQueuer(): Promise<void> {
    await this.laneRinger.wake(await this.change(() => setQueuersPaused(this.pool, null)));
  }

  /**
   * Sets a lane's share in `per-service`, a whole number from 1 to 10,000; counts from the next
   * grant on.
   */
  async setLaneWeight(service: string, weight: number): Promise<void> {
    await this.change(() => control.setLaneWeight(this.pool, service, weight));
  }

  /** Sets slots, strategy or depth, at least one of them; counts from the next grant on. */
  async setQueuer(settings: control.QueuerSettings): Promise<void> {
    await this.laneRinger.wake(await this.change(() => control.setQueuer(this.pool, settings)));
  }

  /** Lets a halted lane continue without the batch that halts it. Returns its number. */
  async skipHead(service: string): Promise<{ batch: number }> {
    const { batch, laneIds, targetIds } = await this.change(() => control.skipHead(this.pool, service));
    await this.laneRinger.ring(laneIds);
    await wakeGivenUp(this, targetIds);
    return { batch };
  }

  /**
   * Lets a halted lane continue after a verdict on its batch of unknown outcome, or with other
   * items in place of the invalid ones. Returns the number of the batch.
   */
  async fixHead(service: string, fix: control.Fix): Promise<{ batch: number }> {
    const { pool, inserter } = this;
    const client = { pool, inserter, handler: (name: string) => this.handler(name) };
    const { batch, laneIds } = await this.change(() => control.fixHead(client, service, fix));
    await this.laneRinger.ring(laneIds);
    return { batch };
  }

  private change<T>(work: () => Promise<T>): Promise<T> {
    return telling(CHANGE, async () => {
      await this.ready();
      return work();
    });
  }
}
