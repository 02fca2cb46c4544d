import { isDeepStrictEqual } from 'node:util';
import { currentJson } from '../../handlers/contracts/currentPayload';
import { FIRST_VERSION, versionOf } from '../../handlers/contracts/payloadVersion';
import { UNCHECKED } from '../../handlers/contracts/uncheckedPayload';
import type { Contract } from '../../handlers/types';
import type { Queryable } from '../../postgres/pool';
import type { StoredTask } from '../../postgres/grouping/task';
import { findTasks } from '../../postgres/grouping/task';
import type { Sealer } from '../../handlers/codec/sealer';
import type { CheckedTask } from './checkTasks';
import { openStored } from './sealPayloads';
import type { TaskProblem } from '../errors';
import { InvalidTaskError } from '../errors';

/** Returns those of the tasks' ids that exist already, with their content. */
export const findKnown = async (
  db: Queryable,
  tasks: readonly { id: string }[],
  sealer: Sealer | null,
): Promise<ReadonlyMap<string, StoredTask>> => {
  const stored = await findTasks(
    db,
    tasks.map((task) => task.id),
  );
  const read = sealer === null ? stored : await openStored(sealer, stored);
  return new Map(read.map((task) => [task.id, task]));
};

/**
 * Returns how many of the tasks exist already with the same content. Each one with different
 * content is a problem.
 *
 * @throws InvalidTaskError for such problems, unless `partial`: then they are added to `refused`.
 */
export const countRepeats = (
  known: ReadonlyMap<string, StoredTask>,
  handler: Contract,
  tasks: readonly CheckedTask[],
  refused: TaskProblem[],
  partial: boolean,
): number => {
  const problems: TaskProblem[] = [];
  let found = 0;
  for (const task of tasks) {
    const other = known.get(task.id);
    if (other === undefined) continue;
    found++;
    // Who may not see that handler is not told its name either.
    if (other.handler !== handler.name) problems.push(conflict(task, 'a task of another handler'));
    else if (!isSamePayload(handler, other, task.payload)) problems.push(conflict(task, 'an accepted task'));
  }
  if (problems.length > 0 && !partial) throw new InvalidTaskError(problems);
  refused.push(...problems);
  return found - problems.length;
};

/**
 * Returns which of the tasks' ids exist already, and how many of those tasks have the same content.
 *
 * @throws InvalidTaskError for other content, unless `partial`: then it is added to `refused`.
 */
export const knownIds = async (
  db: Queryable,
  handler: Contract,
  tasks: readonly CheckedTask[],
  refused: TaskProblem[],
  partial: boolean,
  sealer: Sealer | null,
): Promise<{ ids: Set<string>; repeated: number }> => {
  const known = await findKnown(db, tasks, sealer);
  return { ids: new Set(known.keys()), repeated: countRepeats(known, handler, tasks, refused, partial) };
};

export const conflict = (task: CheckedTask, what: string): TaskProblem => ({
  index: task.index,
  id: task.id,
  field: 'id',
  code: 'ID_CONFLICT',
  message: `expected an unused id, but ${what} has this id with another payload. The same id with the same payload is the same task.`,
});

/**
 * Says whether a task was accepted with this payload: as it was submitted, or, if it is of an older
 * version, as it would be submitted today.
 */
export const isSamePayload = (handler: Contract, stored: StoredTask, payload: string): boolean => {
  if (sameJson(stored.payload, payload)) return true;
  const from = stored.version ?? FIRST_VERSION;
  if (from !== UNCHECKED && (from >= versionOf(handler) || handler.upcast === undefined)) return false;
  try {
    return sameJson(currentJson(handler, stored, null), payload);
  } catch {
    return false; // what it was then is not known now
  }
};

export const sameJson = (a: string, b: string): boolean =>
  a === b || isDeepStrictEqual(JSON.parse(a) as unknown, JSON.parse(b) as unknown);
