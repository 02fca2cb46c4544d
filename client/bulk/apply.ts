import { lockEnds } from '../../postgres/bulk/ended';
import * as waits from '../../postgres/bulk/waiting';
import { deleteExpiries, lockExpiries, setExpiries } from '../../postgres/grouping/expiry';
import type { ListedTask } from '../../postgres/listing/task';
import type { Sealer } from '../../handlers/codec/sealer';
import { lockTargets } from '../../postgres/operations/cancel';
import * as redrives from '../../postgres/operations/redrive';
import { readParkedTasks } from '../../postgres/operations/resolve';
import type { Client as Transaction } from '../../postgres/pool';
import { readTime } from '../../postgres/time';
import { IN_LANE, IN_LANE_BATCH, KEEPS_PAYLOAD } from '../../workflows/planning/bulk/actions';
import { planMoves } from '../../workflows/planning/bulk/update';
import { TASK_STATES } from '../../workflows/planning/states';
import { cancelIn } from '../operations/cancel';
import { redriveDependents } from '../operations/redrive';
import { endParked } from '../operations/resolve';
import type { Patches } from './patches';
import { writePatches } from './patches';
import type { Bounds } from './selection';
import type { StoredDeed, StoredFilter } from './stored';

/** What was done to some tasks, and what there is to wake after the commit. */
export interface Applied {
  done: number;
  /** Number of tasks that could not be changed, by reason. */
  failures: Record<string, number>;
  targetIds: number[];
  laneIds: number[];
  /** Tasks have ended: others may depend on them, and callbacks wait. */
  hasEnds: boolean;
}

const NOTHING: Applied = { done: 0, failures: {}, targetIds: [], laneIds: [], hasEnds: false };

/** What is done to which tasks. */
export interface Order {
  filter: StoredFilter;
  deed: StoredDeed;
  bounds: Bounds;
  sealer: Sealer | null;
  /** With a patch of payloads: what it makes of the tasks. */
  patches: Patches | null;
  /** Tasks whose payloads have changed meanwhile fail, and are not decided anew. */
  isLastTry: boolean;
}

/** Waiting tasks have changed since a patch of them was decided: nothing may be written. */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile';
}

/**
 * Changes tasks in a transaction of the caller, each only if it still is as it was found. All else
 * is skipped. Throws `ChangedMeanwhile` if a patch is to be decided anew.
 */
export const applyTo = async (tx: Transaction, order: Order, tasks: readonly ListedTask[]): Promise<Applied> => {
  const { deed } = order;
  if (deed.do === 'cancel') return cancel(tx, tasks);
  const outside = tasks.filter(({ inLane }) => !inLane);
  const failures = failing(IN_LANE, tasks.length - outside.length);
  if (outside.length === 0) return { ...NOTHING, failures };
  if (deed.do === 'redrive') return { ...(await redrive(tx, order, outside)), failures };
  if (deed.do === 'resolve') return { ...(await resolve(tx, deed, outside)), failures };
  const updated = await update(tx, deed, outside, order);
  return { ...updated, failures: { ...failures, ...updated.failures } };
};

const failing = (reason: string, n: number): Applied['failures'] => (n === 0 ? {} : { [reason]: n });
const seqsOf = (tasks: readonly { seq: number }[]): number[] => tasks.map(({ seq }) => seq);

const cancel = async (tx: Transaction, tasks: readonly ListedTask[]): Promise<Applied> => {
  const alone = tasks.filter(({ batchId }) => batchId === null);
  const failures = failing(IN_LANE_BATCH, tasks.length - alone.length);
  if (alone.length === 0) return { ...NOTHING, failures };
  const rows = await cancelIn(
    tx,
    alone.map(({ id }) => id),
  );
  const gone = rows.filter(({ cancelled }) => cancelled);
  return {
    done: gone.length,
    failures,
    targetIds: gone.map(({ targetId }) => targetId),
    laneIds: gone.flatMap(({ laneId }) => laneId ?? []),
    hasEnds: gone.length > 0,
  };
};

/** Locks the batches in which the tasks were found, as far as they still are in that state. */
const lockFound = async (tx: Transaction, tasks: readonly ListedTask[], state: number): Promise<number[]> => {
  const found = new Set(tasks.map(({ batchId }) => batchId));
  return (await redrives.lockBatchesOf(tx, seqsOf(tasks), state)).filter((id) => found.has(id));
};

const redrive = async (
  tx: Transaction,
  { filter, bounds }: Order,
  tasks: readonly ListedTask[],
): Promise<Omit<Applied, 'failures'>> => {
  const state = TASK_STATES[filter.state];
  const members = tasks.filter(({ isOwnEnd }) => !isOwnEnd);
  const ends = tasks.filter(({ isOwnEnd, batchId }) => isOwnEnd && batchId !== null);
  const dependents = tasks.filter(({ isOwnEnd, batchId }) => isOwnEnd && batchId === null);
  const targetIds: number[] = [];
  if (members.length > 0) {
    const batchIds = await lockFound(tx, members, state);
    targetIds.push(...(await redrives.redriveMembers(tx, batchIds, seqsOf(members), members.length)));
  }
  if (ends.length > 0) {
    const seqs = await lockEnds(tx, ends, state);
    targetIds.push(...(await redrives.redriveOutcomesOf(tx, seqs, state, seqs.length)));
  }
  if (dependents.length > 0) {
    const before = new Date(bounds.startUs / 1_000 + 1).toISOString();
    const scope = { handlerId: bounds.handlerId, target: filter.target ?? null, seqs: seqsOf(dependents), before };
    targetIds.push(...(await redriveDependents(tx, scope, dependents.length)));
  }
  return { done: targetIds.length, targetIds, laneIds: [], hasEnds: dependents.length > 0 };
};

const resolve = async (
  tx: Transaction,
  deed: StoredDeed & { do: 'resolve' },
  tasks: readonly ListedTask[],
): Promise<Omit<Applied, 'failures'>> => {
  const batchIds = new Set(await lockFound(tx, tasks, TASK_STATES.unknown));
  const rows = await readParkedTasks(
    tx,
    tasks.map(({ id }) => id),
  );
  const parked = rows.filter(
    ({ state, batchId }) => state === TASK_STATES.unknown && batchId !== null && batchIds.has(batchId),
  );
  if (parked.length > 0) await endParked(tx, parked, deed);
  const targetIds = parked.map(({ targetId }) => targetId);
  return { done: parked.length, targetIds, laneIds: [], hasEnds: parked.length > 0 };
};

const update = async (
  tx: Transaction,
  deed: StoredDeed & { do: 'update' },
  tasks: readonly ListedTask[],
  { patches, sealer, bounds, isLastTry }: Pick<Order, 'patches' | 'sealer' | 'bounds' | 'isLastTry'>,
): Promise<Applied> => {
  const targets = [...new Set(tasks.map(({ targetId }) => targetId))];
  if (deed.expiresAtMs !== undefined) await lockExpiries(tx, seqsOf(tasks));
  await lockTargets(tx, targets);
  const found = await waits.lockWaiting(tx, seqsOf(tasks));
  const { waiting, failures } = patchable(patches, found, isLastTry);
  const moves = planMoves(
    deed,
    waiting.map(({ notBefore, expiresAt, ...row }) => ({
      ...row,
      expiresAtMs: expiresAt?.getTime() ?? null,
      notBeforeMs: notBefore?.getTime() ?? null,
      isPatched: patches?.changed.has(row.seq) === true,
    })),
    Date.parse(await readTime(tx)),
  );
  if (moves.changed.length > 0) {
    if (patches !== null) await writePatches(tx, { sealer, handlerId: bounds.handlerId }, patches, moves.changed);
    if (moves.toQueue.length > 0) await waits.queueDelayed(tx, moves.toQueue);
    if (moves.toDelayed.length > 0) await waits.delayQueued(tx, moves.toDelayed, moves.notBeforeMs!);
    if (moves.notBeforeMs !== undefined) await waits.setNotBefore(tx, moves.changed, moves.notBeforeMs);
    if (deed.expiresAtMs === null) await deleteExpiries(tx, moves.changed);
    else if (deed.expiresAtMs !== undefined) await setExpiries(tx, moves.changed, deed.expiresAtMs);
    const { priority = null, weight = null } = deed;
    if (priority !== null || weight !== null) await waits.setOrder(tx, moves.changed, { priority, weight });
  }
  const changed = new Set(moves.changed);
  const targetIds = waiting.filter(({ seq }) => changed.has(seq)).map(({ targetId }) => targetId);
  return { done: moves.changed.length, failures, targetIds, laneIds: [], hasEnds: false };
};

/**
 * Returns those of the waiting tasks that can get the patch, and counts by reason those that
 * cannot. One whose payload, version or weight has changed since it was read has to be decided
 * anew: to skip it would lose a change.
 */
const patchable = (
  patches: Patches | null,
  found: readonly waits.WaitingRow[],
  isLastTry: boolean,
): Pick<Applied, 'failures'> & { waiting: waits.WaitingRow[] } => {
  if (patches === null) return { waiting: [...found], failures: {} };
  const waiting: waits.WaitingRow[] = [];
  const failures: Applied['failures'] = {};
  for (const row of found) {
    const isAsRead = patches.read.get(row.seq)?.rowVersion === row.rowVersion;
    if (!isAsRead && !isLastTry) throw new ChangedMeanwhile();
    const reason = isAsRead ? patches.refused.get(row.seq) : KEEPS_PAYLOAD.changed;
    if (reason === undefined) waiting.push(row);
    else failures[reason] = (failures[reason] ?? 0) + 1;
  }
  return { waiting, failures };
};
