import type { Sealer } from '../../handlers/codec/sealer';
import type { Contract } from '../../handlers/types';
import { isLockTimeout, isUnavailable, withRetries } from '../../postgres/errors';
import type { LookedUpAtMs } from '../../postgres/grouping/target';
import type { NewTask, StoredTask } from '../../postgres/grouping/task';
import { insertTasks } from '../../postgres/grouping/task';
import type { Pool, Queryable } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { Settled } from '../../postgres/sharing/groupCommit';
import { GroupCommit } from '../../postgres/sharing/groupCommit';
import type { TaskProblem } from '../errors';
import type { CheckedTask } from './checkTasks';
import { keepObjects } from '../transactions/keptObjects';
import { countRepeats, findKnown } from './repeats';

/** A submit of few tasks, checked. */
export interface FewTasks {
  handler: Contract;
  tasks: readonly CheckedTask[];
  /** The tasks as they are to be stored, in the same order. */
  rows: readonly NewTask[];
  lookedUpAtMs: LookedUpAtMs;
  partial: boolean;
  /** What encodes the payloads; default: nothing. */
  sealer?: Sealer | null;
}
export interface FewStored {
  inserted: number;
  repeated: number;
  problems: TaskProblem[];
}

/** Most tasks, and bytes of payloads, of submits that share a transaction. */
const MAX_TASKS = 1_000;
const MAX_BYTES = 1_000_000;
/** Submits hold up later ones for this long. */
const PATIENCE_MS = 25;
/** Submits that share a transaction wait for another session's lock for this long. */
const LOCK_MS = 100;
const PARALLEL = 4;

/** Submits of few tasks share transactions: one per process and moment, however many callers. */
export const sharedInserts = (pool: Pool): GroupCommit<FewTasks, FewStored> =>
  new GroupCommit<FewTasks, FewStored>((calls) => storeTogether(pool, calls), {
    most: MAX_TASKS,
    prefix: countTogether,
    parallel: PARALLEL,
    patienceMs: PATIENCE_MS,
  });

/**
 * Returns how many of the first submits go together: within the limits, and no id twice, since
 * which of two is the repeat is told by their order.
 */
export const countTogether = (waiting: readonly { rows: readonly { id: string; payload: string }[] }[]): number => {
  const ids = new Set<string>();
  let bytes = 0;
  for (const [i, { rows }] of waiting.entries()) {
    for (const { payload } of rows) bytes += payload.length;
    const isOver = ids.size + rows.length > MAX_TASKS || bytes > MAX_BYTES || rows.some(({ id }) => ids.has(id));
    if (i > 0 && isOver) return i;
    for (const { id } of rows) ids.add(id);
  }
  return waiting.length;
};

const BEGIN = `begin; set local lock_timeout = ${LOCK_MS}`;
/** Another session's open transaction has one of the ids: only its submit is to wait. */
class HeldUp extends Error {
  override readonly name = 'HeldUp';
}

type Answers = readonly (Settled<FewStored> | Promise<FewStored>)[];

/**
 * Stores them in one transaction. A statement by itself would save two round trips, but wherever
 * its answer is lost, it is unknown whether it was committed; here only where that of the commit
 * is.
 */
const storeTogether = async (pool: Pool, calls: readonly FewTasks[]): Promise<Answers> => {
  const together = (tx: Queryable): Promise<Settled<FewStored>[]> =>
    storeCalls(tx, calls).catch((error: unknown) => {
      throw isLockTimeout(error) ? new HeldUp(undefined, { cause: error }) : error;
    });
  try {
    return await withRetries(() => inTransaction(pool, together, BEGIN));
  } catch (error) {
    if (isUnavailable(error) || (calls.length === 1 && !(error instanceof HeldUp))) throw error;
    // What one of them causes is not to be the others': each goes by itself, and no group waits.
    return calls.map((call) => withRetries(() => inTransaction(pool, (tx) => storeFew(tx, call))));
  }
};

const settle = <R>(work: () => R): Settled<R> => {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
};

/**
 * Stores the tasks of all of them by one statement. One that is refused is answered so, if nothing
 * of it was written.
 *
 * @throws InvalidTaskError for one that is refused and of which something was written: nothing of
 *   this transaction may be committed.
 */
const storeCalls = async (tx: Queryable, calls: readonly FewTasks[]): Promise<Settled<FewStored>[]> => {
  const rows = calls.flatMap((call) => call.rows);
  const oldest = calls.reduce((least, { lookedUpAtMs }) => Math.min(least, lookedUpAtMs), Infinity);
  const inserted = await insertTasks(tx, rows, oldest);
  const sealer = calls[0]!.sealer ?? null;
  const fresh = sealer === null ? [] : rows.filter(({ id }) => inserted.has(id));
  await keepObjects(
    tx,
    sealer,
    fresh.map(({ payload }) => payload),
  );
  const known =
    inserted.size === rows.length
      ? NONE
      : await findKnown(
          tx,
          rows.filter(({ id }) => !inserted.has(id)),
          sealer,
        );
  const settled: Settled<FewStored>[] = [];
  for (const call of calls) {
    const written = call.rows.reduce((n, { id }) => (inserted.has(id) ? n + 1 : n), 0);
    const one = settle(() => answerOf(call, written, known));
    if ('error' in one && written > 0) throw one.error;
    settled.push(one);
  }
  return settled;
};

const NONE: ReadonlyMap<string, StoredTask> = new Map();
const answerOf = (
  { handler, tasks, partial }: FewTasks,
  inserted: number,
  known: ReadonlyMap<string, StoredTask>,
): FewStored => {
  const problems: TaskProblem[] = [];
  const repeated = known.size === 0 ? 0 : countRepeats(known, handler, tasks, problems, partial);
  return { inserted, repeated, problems };
};

/**
 * Inserts tasks by one statement that leaves out existing ids, and then compares the content of
 * those, in the transaction of `tx`.
 *
 * @throws InvalidTaskError for other content, unless `partial`.
 */
export const storeFew = async (tx: Queryable, call: FewTasks): Promise<FewStored> => {
  const [stored] = await storeCalls(tx, [call]);
  if ('error' in stored!) throw stored.error;
  return stored!.value;
};
