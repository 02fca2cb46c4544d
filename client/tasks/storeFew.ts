import type { Sealer } from '../../handlers/codec/sealer';
import type { Contract } from '../../handlers/types';
import { isLockTimeout, isUnavailable, withRetries } from '../../postgres/errors';
import type { NewTask, StoredTask } from '../../postgres/grouping/task';
import { insertTasks } from '../../postgres/grouping/task';
import type { Pool, Queryable } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { Settled } from '../../postgres/sharing/groupCommit';
import { GroupCommit } from '../../postgres/sharing/groupCommit';
import type { TaskProblem } from '../errors';
import type { CheckedTask } from './checkTasks';
import { countRepeats, findKnown } from './repeats';

/** A submit of few tasks, checked. */
export interface FewTasks {
  handler: Contract;
  tasks: readonly CheckedTask[];
  /** The tasks as they are to be stored, in the same order. */
  rows: readonly NewTask[];
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

/** Another session's open transaction has one of the ids: only its submit is to wait. */
class HeldUp extends Error {
  override readonly name = 'HeldUp';
}

type Answers = readonly (Settled<FewStored> | Promise<FewStored>)[];

const storeTogether = async (pool: Pool, calls: readonly FewTasks[]): Promise<Answers> => {
  const store = (): Promise<Answers> =>
    calls.every(({ rows }) => rows.length === 1)
      ? storeSingles(pool, calls)
      : inTransaction(pool, (tx) => storeCalls(tx, calls, LOCK_MS));
  const orHeldUp = (error: unknown): never => {
    throw isLockTimeout(error) ? new HeldUp(undefined, { cause: error }) : error;
  };
  try {
    return await withRetries(() => store().catch(orHeldUp));
  } catch (error) {
    if (isUnavailable(error) || (calls.length === 1 && !(error instanceof HeldUp))) throw error;
    // What one of them causes is not to be the others': each goes by itself, and no group waits.
    return calls.map((call) => withRetries(() => inTransaction(pool, (tx) => storeFew(tx, call))));
  }
};

/**
 * Stores single tasks by one statement, which is its own transaction: that saves two round trips.
 * Those that were not written are compared with what is there, each for itself.
 */
const storeSingles = async (pool: Pool, calls: readonly FewTasks[]): Promise<Answers> => {
  const rows = calls.flatMap((call) => call.rows);
  const inserted = await insertTasks(pool, rows, LOCK_MS);
  const others = rows.filter(({ id }) => !inserted.has(id));
  const known = others.length === 0 ? null : withRetries(() => findKnown(pool, others, calls[0]!.sealer ?? null));
  return calls.map((call, i) =>
    known === null || inserted.has(rows[i]!.id)
      ? { value: { inserted: 1, repeated: 0, problems: [] } }
      : known.then((stored) => answerOf(call, 0, stored)),
  );
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
const storeCalls = async (
  db: Queryable,
  calls: readonly FewTasks[],
  lockMs: number | null,
): Promise<Settled<FewStored>[]> => {
  const rows = calls.flatMap((call) => call.rows);
  const inserted = await insertTasks(db, rows, lockMs);
  const known =
    inserted.size === rows.length
      ? NONE
      : await findKnown(
          db,
          rows.filter(({ id }) => !inserted.has(id)),
          calls[0]!.sealer ?? null,
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
  const [stored] = await storeCalls(tx, [call], null);
  if ('error' in stored!) throw stored.error;
  return stored!.value;
};
