import { isEnvelope } from '../../handlers/codec/envelope';
import { isStorableText } from '../../handlers/text';
import { toStorable } from '../../handlers/storable';
import { releaseTargets } from '../../postgres/calls/batch';
import { withRetries } from '../../postgres/errors';
import type { Client as Transaction } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { laneOfParked } from '../../postgres/lanes/control';
import type { ParkedTask } from '../../postgres/operations/resolve';
import * as store from '../../postgres/operations/resolve';
import { PAGE_BYTES, PAGE_MEMBERS } from '../../postgres/calls/records';
import { BATCH_STATES, batchStateName, TASK_STATES, taskStateName } from '../../workflows/planning/states';
import { checkIds, checkOneOf, checkWhole } from '../arguments';
import { wakeGivenUp } from './cancellation';
import { recordEnds } from './recordEnds';
import { wakeNotifierOf } from './wakeNotifier';
import type { ClientContext } from '../context';
import { InvalidArgumentError, NotFoundError, NotUnknownError } from '../errors';
import { orCodecFailure } from '../codecFailure';

/** What to resolve: either a whole parked batch, or some parked tasks. */
export interface ResolveWhat {
  /** Number of a parked batch of any size. */
  batch?: number;
  /** Ids of parked tasks, at most 10,000. */
  tasks?: readonly string[];
}

/** An operator's decision about an unknown outcome. */
export interface Verdict {
  /**
   * The new state. `created`: the tasks are sent again and keep their attempt counts (`redrive`
   * resets those).
   */
  as: 'succeeded' | 'failed' | 'created';
  /** With `succeeded`: the result of each task, a JSON value; default: none. */
  result?: unknown;
  /** With `failed`: the reason; default `resolved as failed by hand`. */
  error?: string;
}

const AS = ['succeeded', 'failed', 'created'] as const;
const TASKS_MAX = 10_000;
const NO_REASON = 'resolved as failed by hand';

/**
 * Ends unknown outcomes, and notifies the recipients of the tasks in the same transaction. Keys and
 * the target are free after that.
 */
export const resolve = async (
  client: ClientContext,
  what: ResolveWhat,
  verdict: Verdict,
): Promise<{ resolved: number }> => {
  const end = checkVerdict(client, verdict);
  if ((what?.batch === undefined) === (what?.tasks === undefined))
    throw new InvalidArgumentError('what', 'either {batch} or {tasks}', what);
  const ids = what.tasks === undefined ? null : checkIds('tasks', what.tasks, TASKS_MAX);
  const batch = what.batch === undefined ? 0 : checkWhole('batch', what.batch, 1, Number.MAX_SAFE_INTEGER);
  await client.ready();
  const sealed = await sealVerdict(client, end);
  const parked = await withRetries(() =>
    inTransaction(client.pool, async (tx) => {
      await refuseLanes(tx, ids, batch);
      return ids === null ? resolveBatch(tx, batch, sealed) : resolveTasks(tx, ids, sealed);
    }),
  );
  const targetIds = [...new Set(parked.map((task) => task.targetId))];
  await releaseTargets(client.pool, targetIds);
  await client.ring(targetIds);
  if (end.as !== 'created') await client.releaseDependents();
  await wakeGivenUp(client, targetIds);
  if (end.as !== 'created' && parked.some((task) => task.recipientId !== null)) await wakeNotifierOf(client);
  return { resolved: parked.length };
};

/**
 * Refuses tasks and batches of lanes: the order of a lane depends on the decision, so it is made
 * through the lane.
 */
const refuseLanes = async (tx: Transaction, ids: readonly string[] | null, batch: number): Promise<void> => {
  const service = await laneOfParked(tx, ids, ids === null ? batch : null);
  if (service !== null)
    throw new InvalidArgumentError(
      'what',
      'a batch or tasks outside of lanes',
      ids ?? batch,
      `They belong to lane ${service}: use \`lane fix ${service}\` or \`lane skip ${service}\`.`,
    );
};

export interface CheckedVerdict {
  as: Verdict['as'];
  /** JSON text. */
  result: string | null;
  error: string | null;
}

type Sealing = Pick<ClientContext, 'sealer'>;

export const checkVerdict = ({ sealer }: Sealing, verdict: Verdict): CheckedVerdict => {
  const as = checkOneOf('as', verdict?.as, AS);
  const { result, error } = verdict;
  if (result !== undefined && as !== 'succeeded')
    throw new InvalidArgumentError('result', `no result with as: "${as}" (only with "succeeded")`, result);
  if (error !== undefined && as !== 'failed')
    throw new InvalidArgumentError('error', `no error with as: "${as}" (only with "failed")`, error);
  if (error !== undefined && (typeof error !== 'string' || !isStorableText(error)))
    throw new InvalidArgumentError('error', 'well-formed text without U+0000', error);
  const stored = result === undefined ? null : toStorable(result);
  if (result !== undefined && stored === null) throw new InvalidArgumentError('result', 'a JSON value', typeof result);
  // A value that does not fit is refused, not changed: the operator is there to read the error.
  if (stored !== null && stored.note !== null)
    throw new InvalidArgumentError(
      'result',
      'a JSON value that can be stored unchanged',
      result,
      `Of it: ${stored.note}.`,
    );
  if (isEnvelope(stored?.json ?? '') && sealer?.sealsTexts !== true)
    throw new InvalidArgumentError('result', 'a value whose first field is not "$codec"', result);
  return { as, result: stored?.json ?? null, error: as === 'failed' ? (error ?? NO_REASON) : null };
};

/** Encodes what a verdict writes, with a codec. */
export const sealVerdict = async ({ sealer }: Sealing, end: CheckedVerdict): Promise<CheckedVerdict> => {
  if (sealer === null) return end;
  const { as, result, error } = end;
  return {
    as,
    result: result === null ? null : (await sealed(sealer.seal('result', [result], null)))[0]!,
    error: error === null ? null : await sealed(sealer.sealText(error)),
  };
};

const sealed = <T>(work: Promise<T>): Promise<T> =>
  orCodecFailure(
    work,
    (why) => `Cannot encode the verdict: ${why}. Repeat the call once it works: nothing was changed.`,
  );

/** Returns what the audit shows of a verdict: with a codec not what it says of the outcome. */
export const auditOf = ({ sealer }: Sealing, verdict: Verdict): object =>
  sealer === null ? verdict : { as: verdict?.as };

const resolveBatch = async (tx: Transaction, id: number, end: CheckedVerdict): Promise<ParkedTask[]> => {
  const batch = await store.lockBatch(tx, id);
  if (batch === null) throw new NotFoundError('batch', String(id));
  if (batch.state !== BATCH_STATES.unknown) throw new NotUnknownError(`batch ${id}`, batchStateName(batch.state));
  const members = await store.readParkedMembers(tx, id);
  if (end.as === 'created') {
    await store.requeueParkedTasks(
      tx,
      members.map((member) => member.seq),
    );
    return members;
  }
  await store.endParkedBatch(tx, id, BATCH_STATES[end.as], end.error);
  if (end.result !== null) {
    const perPage = Math.max(1, Math.min(PAGE_MEMBERS, Math.floor(PAGE_BYTES / Buffer.byteLength(end.result))));
    await store.insertParkedResults(tx, id, end.result, perPage);
  }
  await recordEnds(tx, members, { state: end.as, error: end.error });
  return members;
};

const resolveTasks = async (tx: Transaction, ids: readonly string[], end: CheckedVerdict): Promise<ParkedTask[]> => {
  await store.lockBatchesOfTasks(tx, ids);
  const found = new Map((await store.readParkedTasks(tx, ids)).map((task) => [task.id, task]));
  const tasks = ids.map((id) => {
    const task = found.get(id);
    if (task === undefined) throw new NotFoundError('task', id, 'Nothing was changed.');
    if (task.state !== TASK_STATES.unknown) throw new NotUnknownError(`task "${id}"`, taskStateName(task.state));
    return task;
  });
  const seqs = tasks.map((task) => task.seq);
  if (end.as === 'created') await store.requeueParkedTasks(tx, seqs);
  else await endParked(tx, tasks, { ...end, as: end.as });
  return tasks;
};

/** Ends parked tasks, whose batches the caller's transaction has locked. */
export const endParked = async (
  tx: Transaction,
  tasks: readonly ParkedTask[],
  end: CheckedVerdict & { as: 'succeeded' | 'failed' },
): Promise<void> => {
  const seqs = tasks.map((task) => task.seq);
  await store.endParkedTasks(tx, seqs, { state: TASK_STATES[end.as], error: end.error, result: end.result });
  await recordEnds(tx, tasks, { state: end.as, error: end.error });
};
