import type { Handler } from '../../handlers/types';
import type { Queryable } from '../../postgres/pool';
import { findTasks } from '../../postgres/grouping/task';
import type { CheckedTask } from './checkTasks';
import type { TaskProblem } from '../errors';
import { InvalidTaskError } from '../errors';

/**
 * Returns which of the tasks' ids exist already, and how many of those tasks have the same content.
 * Each one with different content is a problem.
 *
 * @throws InvalidTaskError for such problems, unless `partial`: then they are added to `refused`.
 */
export const knownIds = async (
  db: Queryable,
  handler: Handler,
  tasks: readonly CheckedTask[],
  refused: TaskProblem[],
  partial: boolean,
): Promise<{ ids: Set<string>; repeated: number }> => {
  const stored = new Map(
    (
      await findTasks(
        db,
        tasks.map((task) => task.id),
      )
    ).map((task) => [task.id, task]),
  );
  const problems: TaskProblem[] = [];
  for (const task of tasks) {
    const other = stored.get(task.id);
    if (other === undefined) continue;
    if (other.handler !== handler.name) problems.push(conflict(task, `a task of handler "${other.handler}"`));
    else if (!sameJson(other.payload, task.payload)) problems.push(conflict(task, 'an accepted task'));
  }
  if (problems.length > 0 && !partial) throw new InvalidTaskError(problems);
  refused.push(...problems);
  return { ids: new Set(stored.keys()), repeated: stored.size - problems.length };
};

export const conflict = (task: CheckedTask, what: string): TaskProblem => ({
  index: task.index,
  id: task.id,
  field: 'id',
  code: 'ID_CONFLICT',
  message: `expected an unused id, but ${what} has this id with another payload. The same id with the same payload is the same task.`,
});

export const sameJson = (a: string, b: string): boolean =>
  a === b || canonical(JSON.parse(a)) === canonical(JSON.parse(b));
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
