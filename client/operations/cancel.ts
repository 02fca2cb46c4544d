import type { CancelledTask } from '../../postgres/operations/cancel';
import { cancelTasks, findTargetsOf, lockTargets } from '../../postgres/operations/cancel';
import type { NamedBatch } from '../../postgres/lanes/cancelBatch';
import { findBatchesOfTasks } from '../../postgres/lanes/cancelBatch';
import { withRetries } from '../../postgres/errors';
import { lockLaneStates } from '../../postgres/lanes/lane';
import type { Client as Transaction } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { CancellationState } from '../../workflows/planning/calls/cancellation';
import { isTerminal, TASK_STATES, taskStateName } from '../../workflows/planning/states';
import { checkIds } from '../arguments';
import { cancelBatch } from '../lanes/cancelBatch';
import type { ClientContext } from '../context';
import { chunksOf, IDS_PER_STATEMENT } from '../context';
import { NotCancellableError, NotFoundError } from '../errors';
import type { Cancellation } from '../views';
import { recordEnds } from './recordEnds';
import { wakeNotifierOf } from './wakeNotifier';

/** Cancels tasks, 1,000 ids per transaction. A task that a claim has taken first continues. */
export const cancel = async (client: ClientContext, ids: string | readonly string[]): Promise<Cancellation> => {
  const wanted = checkIds('ids', ids);
  await client.ready();
  const answer: Cancellation = { cancelled: [], notCancelled: [] };
  for (const chunk of chunksOf(wanted, IDS_PER_STATEMENT)) {
    const rows = await withRetries(() => inTransaction(client.pool, (tx) => cancelIn(tx, chunk)));
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of chunk) {
      const row = found.get(id);
      if (row?.cancelled === true) answer.cancelled.push(id);
      else answer.notCancelled.push({ id, state: row === undefined ? 'unknown id' : taskStateName(row.state) });
    }
    const gone = rows.filter((row) => row.cancelled);
    // A freed `distinctBy` key may let another task go, and in a lane the next task is the head
    // now.
    await client.ring(new Set(gone.map((row) => row.targetId)));
    await client.ringLaneIds(new Set(gone.flatMap((row) => row.laneId ?? [])));
    if (gone.length > 0) await client.releaseDependents();
    if (gone.some((row) => row.recipientId !== null)) await wakeNotifierOf(client);
  }
  return cancelInBatches(client, answer);
};

/**
 * Cancels tasks that are in lane batches or that the downstream has accepted: only as whole
 * batches, since a batch is sent as it is.
 */
const cancelInBatches = async (client: ClientContext, answer: Cancellation): Promise<Cancellation> => {
  const open = answer.notCancelled.flatMap(({ id, state }) =>
    state === 'unknown id' || isTerminal(state) ? [] : [id],
  );
  const batches = new Map<number, NamedBatch>();
  for (const chunk of chunksOf(open, IDS_PER_STATEMENT))
    for (const found of await findBatchesOfTasks(client.pool, chunk)) {
      const ids = [...(batches.get(found.batchId)?.ids ?? []), ...found.ids]; // ids of a batch may be in several chunks
      batches.set(found.batchId, { ...found, ids });
    }
  for (const named of batches.values()) {
    const { batchId: batch, service, ids, n } = named;
    const others = n - ids.length;
    const why =
      others > 0
        ? `in batch ${batch}${service === null ? '' : ` of lane ${service}`} with ${others} ${others === 1 ? 'task' : 'tasks'} not named here; cancel the batch, or name all of its tasks`
        : await whyNot(client, batch);
    const mine = new Set(ids);
    if (why !== null)
      answer.notCancelled = answer.notCancelled.map((one) => (mine.has(one.id) ? { ...one, batch, why } : one));
    else {
      answer.notCancelled = answer.notCancelled.filter(({ id }) => !mine.has(id));
      answer.cancelled.push(...ids);
    }
  }
  return answer;
};

/** Why a task is not cancelled yet: it ends as the downstream reports. */
const ASKED: Record<CancellationState, string> = {
  requested: 'the downstream is being asked to cancel it',
  confirmed: 'the downstream agreed to cancel it, and has not reported yet what it had done',
  refused: 'the downstream refused to cancel it',
  late: 'its cancellation came too late for the downstream',
  unsupported: 'its handler defines no cancel',
  withdrawn: 'the downstream accepted it again',
};

const whyNot = async (client: ClientContext, batch: number): Promise<string | null> => {
  try {
    const { cancellation } = await cancelBatch(client, batch);
    return cancellation === undefined ? null : `${ASKED[cancellation]} (batch ${batch})`;
  } catch (error) {
    if (error instanceof NotCancellableError) return `batch ${batch} (${error.status}): ${error.why}`;
    // A batch that was split does not lose the results of the others.
    if (error instanceof NotFoundError) return `batch ${batch} was split in the meantime; cancel again`;
    throw error;
  }
};

/** Ends those of the tasks that are in no batch, in a transaction of the caller. */
export const cancelIn = async (
  tx: Transaction,
  ids: readonly string[],
  { state, error }: { state: 'cancelled' | 'failed'; error: string | null } = { state: 'cancelled', error: null },
): Promise<CancelledTask[]> => {
  const targets = await findTargetsOf(tx, ids);
  await lockTargets(
    tx,
    targets.flatMap(({ targetId, laneId }) => (laneId === null ? [targetId] : [])),
  );
  await lockLaneStates(tx, [...new Set(targets.flatMap(({ laneId }) => laneId ?? []))]);
  const rows = await cancelTasks(tx, ids, { state: TASK_STATES[state], error });
  const ends = rows.filter((row) => row.cancelled).map((row) => ({ ...row, batchId: null }));
  await recordEnds(tx, ends, { state, error });
  return rows;
};
