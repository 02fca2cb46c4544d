import type { Sealer } from '../../handlers/codec/sealer';
import type { Contract } from '../../handlers/types';
import * as dependency from '../../postgres/grouping/dependency';
import { withRetries } from '../../postgres/errors';
import type { LookedUpAtMs } from '../../postgres/grouping/target';
import type { NewTask } from '../../postgres/grouping/task';
import { insertTasks } from '../../postgres/grouping/task';
import type { Pool, Queryable } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { orderDependents } from '../../workflows/planning/grouping/dependencies';
import type { DependencyProblem } from '../../workflows/planning/grouping/dependencies';
import { chunksOf } from '../context';
import type { TaskProblem } from '../errors';
import { InvalidTaskError } from '../errors';
import { joinTransaction } from '../transactions/join';
import type { CheckedTask } from './checkTasks';
import { countEnded } from './countEnded';
import { keepObjects } from '../transactions/keptObjects';
import { knownIds } from './repeats';

/** Another call stored one of the ids at the same moment, so this transaction is rolled back. */
class StoredMeanwhile extends Error {
  override readonly name = 'StoredMeanwhile';
}

/** Most dependencies per statement. */
const NEEDS = 20_000;
const TRIES = 5;

interface Storing {
  handler: Contract;
  tasks: readonly CheckedTask[];
  /** The tasks as they are to be stored, in the same order. */
  rows: readonly NewTask[];
  lookedUpAtMs: LookedUpAtMs;
  partial: boolean;
  sealer: Sealer | null;
}
interface Stored {
  inserted: number;
  repeated: number;
  problems: TaskProblem[];
}

/**
 * Stores tasks of which some have dependencies: in one transaction of the pool, or, with `check`,
 * in the caller's transaction after that check. The caller's commit is then the acceptance, and a
 * refusal leaves the caller's transaction as it was.
 */
export const storeWithDependents = async (
  db: Pool | Queryable,
  schema: string,
  check: ((db: Queryable) => Promise<void>) | null,
  storing: Storing,
): Promise<Stored> => {
  const work = async (tx: Queryable): Promise<Stored> => {
    await check?.(tx);
    return storeDependents(tx, storing);
  };
  for (let attempt = 1; ; attempt++)
    try {
      return check === null
        ? await withRetries(() => inTransaction(db as Pool, work))
        : await joinTransaction(db, schema, work);
    } catch (error) {
      if (!(error instanceof StoredMeanwhile) || attempt >= TRIES) throw error;
    }
};

/**
 * Stores tasks of which some have dependencies, in the transaction of `db`. Tasks that exist
 * already stay as they are. Of the others, tasks without dependencies are stored first, then the
 * dependents, each after its dependencies.
 */
const storeDependents = async (db: Queryable, storing: Storing): Promise<Stored> => {
  const { handler, tasks, rows, lookedUpAtMs, partial, sealer } = storing;
  const problems: TaskProblem[] = [];
  const seqs = await dependency.lockTasks(
    db,
    [...new Set(tasks.flatMap(({ id, dependsOn }) => [id, ...dependsOn]))].sort(),
  );
  const again = tasks.filter(({ id }) => seqs.has(id));
  const { repeated } =
    again.length === 0 ? { repeated: 0 } : await knownIds(db, handler, again, problems, partial, sealer);
  const fresh = tasks.flatMap((task, i) => (seqs.has(task.id) ? [] : [{ task, row: rows[i]! }]));
  const planned = orderDependents(
    fresh.map(({ task }) => task),
    (id) => seqs.has(id),
  );
  problems.push(...planned.problems.map((problem) => dependencyProblem(fresh[problem.index]!.task, problem)));
  if (planned.problems.length > 0 && !partial) throw new InvalidTaskError(problems);
  const ordered = planned.order.map((index) => fresh[index]!);
  const free = ordered.filter(({ task }) => task.dependsOn.length === 0).sort((a, b) => a.task.index - b.task.index);
  const dependents = ordered.filter(({ task }) => task.dependsOn.length > 0);
  const external = dependents.flatMap(({ task }) => task.dependsOn.flatMap((id) => seqs.get(id) ?? []));
  await store(db, seqs, { free, dependents, lookedUpAtMs });
  await keepObjects(
    db,
    sealer,
    ordered.map(({ row }) => row.payload),
  );
  await countEnded(db, new Map(external.map((seq) => [seq, null])));
  return { inserted: ordered.length, repeated, problems };
};

interface Fresh {
  task: CheckedTask;
  row: NewTask;
}

const store = async (
  db: Queryable,
  seqs: Map<string, number>,
  {
    free,
    dependents,
    lookedUpAtMs,
  }: { free: readonly Fresh[]; dependents: readonly Fresh[]; lookedUpAtMs: LookedUpAtMs },
): Promise<void> => {
  if (free.length > 0) {
    const ids = await insertTasks(
      db,
      free.map(({ row }) => row),
      lookedUpAtMs,
    );
    if (ids.size < free.length) throw new StoredMeanwhile();
    for (const [id, seq] of await dependency.lockTasks(db, [...ids])) seqs.set(id, seq);
  }
  if (dependents.length === 0) return;
  const held = await dependency.insertHeld(
    db,
    dependents.map(({ row }) => row),
    lookedUpAtMs,
  );
  if (held.size < dependents.length) throw new StoredMeanwhile();
  for (const [id, seq] of held) seqs.set(id, seq);
  const needs = dependents.flatMap(({ task: { id, dependsOn, runsAnyway } }) =>
    dependsOn.map((needsId, place) => ({
      seq: seqs.get(id)!,
      needs: seqs.get(needsId)!,
      needsId,
      place,
      run: runsAnyway,
    })),
  );
  for (const chunk of chunksOf(needs, NEEDS)) await dependency.insertNeeds(db, chunk);
};

/** Returns what a caller is told of a dependency that cannot be kept. */
export const dependencyProblem = (
  { index, id, dependsOn }: CheckedTask,
  { why, path }: DependencyProblem,
): TaskProblem => ({
  index,
  id,
  field: `dependsOn.${dependsOn.indexOf(why === 'cycle' ? nextOf(path, id) : path[0]!)}`,
  code: 'INVALID_DEPENDENCY',
  message: messages[why](path),
});

/** Returns the id that follows in the cycle. */
const nextOf = (path: readonly string[], id: string): string => path[path.indexOf(id) + 1]!;

/** Most ids of a cycle in a message. */
const SHOWN = 10;
const quoted = (id: string): string => `"${id}"`;
const messages: Record<DependencyProblem['why'], (path: readonly string[]) => string> = {
  unknown: ([id]) =>
    `expected ids of accepted tasks or of this call, got ${quoted(id!)}, which does not exist, ` +
    'or was deleted after its retention period',
  refused: ([id]) => `expected tasks that can be accepted, got ${quoted(id!)} of the same call, which is refused`,
  cycle: (path) => {
    const more = path.length > SHOWN ? `, ... (${path.length - 1} tasks)` : '';
    return `expected no cycle, got ${path.slice(0, SHOWN).map(quoted).join(' -> ')}${more}`;
  },
};
