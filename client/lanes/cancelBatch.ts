import * as store from '../../postgres/lanes/cancelBatch';
import { withRetries } from '../../postgres/errors';
import { lockLaneStates } from '../../postgres/lanes/lane';
import { moveLaneBatch } from '../../postgres/lanes/settle';
import { inTransaction } from '../../postgres/pool';
import { recordEnds } from '../operations/recordEnds';
import type { CancellationState } from '../../workflows/planning/calls/cancellation';
import { whyNotCancelled } from '../../workflows/planning/lanes/cancel';
import { STATUSES, statusName } from '../../workflows/planning/lanes/statuses';
import { checkWhole } from '../arguments';
import { cancelAccepted } from '../operations/cancellation';
import { wakeNotifierOf } from '../operations/wakeNotifier';
import type { ClientContext } from '../context';
import { NotCancellableError, NotFoundError } from '../errors';

/** The result of `batches.cancel`. */
export interface CancelledBatch {
  /** The number of the batch. */
  batch: number;
  /** The service of its lane; null: it is not a lane batch. */
  service: string | null;
  /**
   * Ids of the tasks that ended with it, in member order; empty if it was cancelled before, or if
   * the downstream has accepted it.
   */
  tasks: string[];
  /**
   * Only for a batch that the downstream has accepted: the state of its cancellation. Its tasks end
   * as the downstream reports.
   */
  cancellation?: CancellationState;
}

/** Wait in milliseconds, and most tries: a mark or a settlement locks a batch for milliseconds. */
const LOOK_AGAIN_MS = 20;
const LOOKS = 100;

export const cancelBatch = async (client: ClientContext, batch: number): Promise<CancelledBatch> => {
  checkWhole('batch', batch, 1, Number.MAX_SAFE_INTEGER);
  await client.ready();
  for (let look = 1; look <= LOOKS; look++) {
    const found = await store.readBatchInLane(client.pool, batch);
    if (found === null) {
      const cancellation = await cancelAccepted(client, batch);
      if (cancellation === null)
        throw new NotFoundError(
          'batch',
          String(batch),
          'It does not exist, was split, or was deleted after its retention period: see `muster batch`.',
        );
      return { batch, service: null, tasks: [], cancellation };
    }
    const { service } = found;
    if (found.status === STATUSES.pending || found.status === STATUSES.valid) {
      const cancellation = await cancelInLane(client, batch);
      if (cancellation !== null) return { batch, service, tasks: [], cancellation };
      continue; // its answer is being written
    }
    if (found.status === STATUSES.cancelled) return { batch, service, tasks: [] };
    refuse(batch, found);
    const ended = await withRetries(() => tryCancel(client, batch, found.laneId));
    if (ended !== null) {
      await client.ringLaneIds([found.laneId, ...ended.dependents]);
      await client.releaseDependents();
      if (ended.members.some(({ recipientId }) => recipientId !== null)) await wakeNotifierOf(client);
      return { batch, service, tasks: ended.members.map(({ id }) => id) };
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
  throw new NotCancellableError(batch, 'held', 'another transaction holds it; try again');
};

/**
 * Requests the cancellation of a lane batch from the downstream. Null: the batch is not pending any
 * more.
 */
const cancelInLane = async (client: ClientContext, batch: number): Promise<CancellationState | null> => {
  try {
    return await cancelAccepted(client, batch);
  } catch (error) {
    const found = await store.readBatchInLane(client.pool, batch);
    if (found?.status !== STATUSES.pending && found?.status !== STATUSES.valid) return null;
    throw error instanceof NotCancellableError
      ? new NotCancellableError(batch, statusName(found.status), error.why)
      : error;
  }
};

const refuse = (batch: number, { status, ...facts }: store.BatchInLane): void => {
  const name = statusName(status);
  const why = whyNotCancelled({ status: name, ...facts });
  if (why !== null) throw new NotCancellableError(batch, name, why);
};

interface Ended {
  members: store.CancelledMember[];
  dependents: number[];
}

/**
 * Tries to cancel a batch before it is sent. Null: another transaction holds the batch at this
 * moment, or it has just been cancelled.
 */
const tryCancel = (client: ClientContext, batch: number, laneId: number): Promise<Ended | null> =>
  inTransaction(client.pool, async (tx) => {
    await lockLaneStates(tx, [laneId]);
    if (!(await store.lockFreeBatch(tx, batch))) return null;
    const found = await store.readBatchInLane(tx, batch);
    if (found === null || found.status === STATUSES.cancelled) return null; // the next look finds that
    refuse(batch, found);
    const members = await store.cancelMembers(tx, batch);
    await moveLaneBatch(tx, batch, STATUSES.cancelled);
    await recordEnds(tx, members, { state: 'cancelled', error: null });
    return { members, dependents: await store.findDependentLanes(tx, batch) };
  });
