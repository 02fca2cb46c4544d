import type { CompletionReport, CompletionWhat } from '../../activities/accepted/completion';
import type { Contract } from '../../handlers/types';
import type { Connection } from '../connection';
import type { ListBatchesOptions } from '../listing/listBatches';
import { listBatches } from '../listing/listBatches';
import * as views from '../operations/batch';
import * as completions from '../operations/complete';
import * as resolves from '../operations/resolve';
import type { TaskInput } from '../tasks/checkTasks';
import { CHANGE, COMPLETE, SUBMIT, withFailureTexts } from '../tasks/failureTexts';
import type { BatchPage, BatchView } from '../views';
import type { CancelledBatch } from './cancelBatch';
import { cancelBatch } from './cancelBatch';
import type { BatchInput } from './checkBatch';
import type { Receipt } from './receipts';
import { receipts } from './receipts';
import type { SubmitBatchOptions, SubmittedBatch } from './submitBatch';
import { RingingBatch, storeBatches } from './submitBatch';
import type { LaneBatchView } from './views';
import { batchStatus } from './views';

type BatchOptions = Omit<BatchInput, 'service' | 'items'> & SubmitBatchOptions;

/** The verbs for batches: `muster.batches`. */
export class Batches {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Submits one batch to a lane. It is sent as it is, after everything that was submitted to its
   * service before. Resolves when the batch is accepted, which means committed (with `tx`: written;
   * call its `ring` once your transaction has committed). Throws as `submitMany` does.
   */
  submit<P, I>(
    handler: Contract<P, I>,
    service: string,
    items: readonly TaskInput<NoInfer<I>>[],
    options?: BatchOptions,
  ): Promise<SubmittedBatch>;
  submit(
    handler: string,
    service: string,
    items: readonly TaskInput[],
    options?: BatchOptions,
  ): Promise<SubmittedBatch>;
  async submit(
    handler: string | Contract,
    service: string,
    items: readonly TaskInput[],
    options: BatchOptions = {},
  ): Promise<SubmittedBatch> {
    const { tx, traceparent, ...rest } = options;
    const [batch] = await store(this.connection, handler, [{ ...rest, service, items }], {
      ...(tx === undefined ? {} : { tx }),
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    return batch!;
  }

  /**
   * Submits 1 to 1,000 batches in one transaction, in this order: all are accepted, or none. Throws
   * `UnknownHandlerError`, `InvalidArgumentError`, `InvalidTaskError`, `BackloggedError`, or a
   * `MusterError` with code INVALID_DEPENDENCY, BATCH_TOO_LARGE, TARGET_BUSY or LANE_BUSY. Then
   * nothing was accepted.
   */
  submitMany<P, I>(
    handler: Contract<P, I>,
    batches: readonly BatchInput<NoInfer<I>>[],
    options?: SubmitBatchOptions,
  ): Promise<SubmittedBatch[]>;
  submitMany(handler: string, batches: readonly BatchInput[], options?: SubmitBatchOptions): Promise<SubmittedBatch[]>;
  submitMany(
    handler: string | Contract,
    batches: readonly BatchInput[],
    options: SubmitBatchOptions = {},
  ): Promise<SubmittedBatch[]> {
    return store(this.connection, handler, batches, options);
  }

  /**
   * Lists the batches of a handler, in any state or in one, the newest first; those of the whole
   * handler that are open or unknown by target. A page looks at a bounded number of rows: it may be
   * short, even empty, and still have a `next`. Throws `NotFoundError` for an unknown handler or
   * target.
   */
  list(handler: string, options?: ListBatchesOptions): Promise<BatchPage> {
    return listBatches(this.connection, handler, options);
  }

  /**
   * Returns one batch with its first members: `members` of them, 0 to 100,000, default 100. Null:
   * no batch has this number, or it was deleted after its retention period.
   */
  get(id: number, options?: { members?: number }): Promise<BatchView | null> {
    return views.batch(this.connection, id, options);
  }

  /**
   * Returns the place of a batch in its lane, and its status. Null: no lane batch has this number,
   * or the batch was split.
   */
  async status(batch: number): Promise<LaneBatchView | null> {
    await this.connection.ready();
    return batchStatus(this.connection.pool, batch);
  }

  /**
   * Returns the downstream's report on each item of a batch, in the order in which the batch was
   * formed: valid, or invalid with a message and data. Throws `NotFoundError` for an unknown batch.
   */
  async receipts(batch: number): Promise<Receipt[]> {
    await this.connection.ready();
    return receipts(this.connection.pool, batch);
  }

  /**
   * Cancels a lane batch that has not reached the downstream, even while it waits for its next try:
   * its tasks end `cancelled`, its lane continues, and its dependents fail without being sent. If
   * the downstream has accepted the batch, in a lane or not, it is asked to cancel it (by the
   * handler's `cancel`): no part of the batch is sent again, applied tasks stay applied, and the
   * others end `cancelled`. It is safe to call this again. Throws `NotFoundError` for an unknown
   * batch, and `NotCancellableError` with the reason if the batch cannot be cancelled. Then nothing
   * was changed.
   */
  cancel(batch: number): Promise<CancelledBatch> {
    const act = { verb: 'cancel', subject: `batch ${batch}` };
    return this.connection.steer(CHANGE, act, () => cancelBatch(this.connection, batch));
  }

  /**
   * Reports the outcome of a batch that the downstream accepted, in a lane or not, so that it need
   * not be polled. The results may be an async iterable. A repeat gets the same answer.
   *
   * Throws `NotFoundError` if no batch has this reference or number, `CompletionTooEarlyError` if
   * its acceptance is not stored yet (report it again), `CompletionStaleError` if it has ended in
   * another way or the downstream does not have it, and `InvalidCompletionError` for an invalid
   * field. Then nothing was changed.
   */
  async complete(handler: string, told: CompletionWhat & CompletionReport): Promise<completions.CompletionAnswer> {
    const { connection } = this;
    return withFailureTexts(COMPLETE, () => completions.complete(connection, connection.implementation(handler), told));
  }

  /**
   * Decides the unknown outcome of a parked batch manually, for all of its tasks in one
   * transaction. Throws as `tasks.resolve` does.
   */
  resolve(batch: number, verdict: resolves.Verdict): Promise<{ resolved: number }> {
    const act = { verb: 'resolve', subject: `batch ${batch}`, detail: resolves.auditOf(this.connection, verdict) };
    return this.connection.steer(CHANGE, act, () => resolves.resolve(this.connection, { batch }, verdict));
  }
}

const store = async (
  connection: Connection,
  named: string | Contract,
  batches: readonly BatchInput[],
  options: SubmitBatchOptions,
): Promise<SubmittedBatch[]> => {
  const handler = connection.handler(named);
  const stored = await connection.writeIn(options.tx, SUBMIT, () =>
    storeBatches(connection, handler, batches, options),
  );
  if (options.tx === undefined) await connection.ringLaneIds(stored.laneIds);
  return stored.batches.map((one) => new RingingBatch(one, () => connection.ringLaneIds([one.laneId])));
};
