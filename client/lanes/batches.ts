import type { CompletionReport, CompletionWhat } from '../../activities/accepted/completion';
import type { Connection } from '../connection';
import * as views from '../operations/batch';
import * as completions from '../operations/complete';
import * as resolves from '../operations/resolve';
import type { TaskInput } from '../tasks/checkTasks';
import { CHANGE, COMPLETE, SUBMIT, withFailureTexts } from '../tasks/failureTexts';
import type { BatchView } from '../views';
import type { CancelledBatch } from './cancelBatch';
import { cancelBatch } from './cancelBatch';
import type { BatchInput } from './checkBatch';
import type { Receipt } from './receipts';
import { receipts } from './receipts';
import type { SubmitBatchOptions, SubmittedBatch } from './submitBatch';
import { storeBatches } from './submitBatch';
import type { LaneBatchView } from './views';
import { batchStatus } from './views';

/** The verbs for batches: `muster.batches`. */
export class Batches {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Submits one batch to a lane: sent as it is, after everything that was submitted to its service
   * before. Resolves when accepted: committed. After a submit with `tx`: call
   * `lanes.ring([service])` once it has committed, or wait for the sweeper (5 s at most).
   */
  async submit(
    handler: string,
    service: string,
    items: readonly TaskInput[],
    options: Omit<BatchInput, 'service' | 'items'> & SubmitBatchOptions = {},
  ): Promise<SubmittedBatch> {
    const { tx, ...rest } = options;
    const [batch] = await this.submitMany(handler, [{ ...rest, service, items }], tx === undefined ? {} : { tx });
    return batch!;
  }

  /**
   * Submits several batches in one transaction, in this order: all are accepted or none. At most
   * 1,000.
   */
  async submitMany(
    handlerName: string,
    batches: readonly BatchInput[],
    options: SubmitBatchOptions = {},
  ): Promise<SubmittedBatch[]> {
    const { connection } = this;
    const handler = connection.handler(handlerName);
    const stored = await connection.write(SUBMIT, () => storeBatches(connection, handler, batches, options));
    if (options.tx === undefined) await connection.ringLaneIds(stored.laneIds);
    return stored.batches;
  }

  /**
   * Returns one batch with its first members, 100 unless `members` (0 to 100,000) says otherwise;
   * null: none has this number, or its retention has ended.
   */
  get(id: number, options?: { members?: number }): Promise<BatchView | null> {
    return views.batch(this.connection, id, options);
  }

  /** Returns where a batch stands in its lane; null: no batch of this id stands or stood in one. */
  async status(batch: number): Promise<LaneBatchView | null> {
    await this.connection.ready();
    return batchStatus(this.connection.pool, batch);
  }

  /**
   * Returns the downstream's report on each item of a batch, valid, or invalid with message and
   * data: in the order of the batch as it was formed, at most 16 MB of data in all. Throws
   * `NotFoundError`.
   */
  async receipts(batch: number): Promise<Receipt[]> {
    await this.connection.ready();
    return receipts(this.connection.pool, batch);
  }

  /**
   * Cancels a lane batch that has not reached the downstream, also while it waits for its next try:
   * its tasks end `cancelled`, the lane continues, and its dependents fail unsent. A batch that the
   * downstream has accepted, in a lane or not, is cancelled there (the handler's `cancel`): nothing
   * of it is sent again, what was applied stays so, and the rest ends `cancelled`. Calling it again
   * is safe. Throws `NotFoundError`; `NotCancellableError` says why it cannot, and nothing was
   * changed.
   */
  cancel(batch: number): Promise<CancelledBatch> {
    return withFailureTexts(CHANGE, () => cancelBatch(this.connection, batch));
  }

  /**
   * Reports the outcome of a batch that the downstream accepted, so that it need not be polled,
   * with and without a lane; results may be an async iterable. A repeat gets the same answer.
   * Throws `NotFoundError` (no batch has this reference or number), `CompletionTooEarlyError` (its
   * acceptance is not written yet: repeat it), `CompletionStaleError` (it ended otherwise, or the
   * downstream does not have it), `InvalidCompletionError` (by field); then nothing was changed.
   */
  async complete(handler: string, told: CompletionWhat & CompletionReport): Promise<completions.CompletionAnswer> {
    const { connection } = this;
    return withFailureTexts(COMPLETE, () => completions.complete(connection, connection.handler(handler), told));
  }

  /**
   * Ends the unknown outcome of a parked batch by hand, as `tasks.resolve` does for tasks: all of
   * its tasks, in one transaction.
   */
  resolve(batch: number, verdict: resolves.Verdict): Promise<{ resolved: number }> {
    return withFailureTexts(CHANGE, () => resolves.resolve(this.connection, { batch }, verdict));
  }
}
