import type { Handler } from '../../../handlers';
import type { TryTask } from './tryPlan';
import { checkTask } from '../../tasks/checkTasks';
import type { TaskProblem } from '../../errors';
import { atLine } from './lineProblem';
import { lineGroups } from './lines';
import type { Staged } from './spool';
import { maxLineBytes, Problems, RefusedFileError } from './submitFile';
import { isLineProblem, parseTaskLine } from './taskLine';

/**
 * Reads a file as `submit` would, and returns by target what the planner needs of each task,
 * without payloads.
 *
 * @throws RefusedFileError with the problems of all lines.
 */
export const readForPlan = async (handler: Handler, file: Staged): Promise<Map<string, TryTask[]>> => {
  const byTarget = new Map<string, TryTask[]>();
  const seen = new Set<string>();
  const problems = new Problems();
  for await (const { lines } of lineGroups(file.read(), maxLineBytes(handler)))
    for (const line of lines) {
      const parsed = parseTaskLine(line, maxLineBytes(handler));
      const found: TaskProblem[] = [];
      const task = isLineProblem(parsed) ? problems.add(parsed) : checkTask(handler, parsed, line.number, found);
      for (const problem of found) problems.add(atLine(problem, line.number));
      if (task == null || seen.has(task.id)) continue;
      seen.add(task.id);
      const { priority, bytes, weight, key, target } = task;
      const list = byTarget.get(target);
      const waiting = { seq: line.number, priority, bytes, weight: weight ?? 1, readyAtMs: 0, key };
      if (list === undefined) byTarget.set(target, [waiting]);
      else list.push(waiting);
    }
  if (problems.count > 0) throw new RefusedFileError(file.name, problems.kept, problems.count);
  return byTarget;
};

/** Returns the tasks of the lines with these numbers, in that order, as they would be stored. */
export const readLines = async (
  handler: Handler,
  file: Staged,
  numbers: readonly number[],
): Promise<{ id: string; payload: unknown }[]> => {
  const wanted = new Set(numbers);
  const found = new Map<number, { id: string; payload: unknown }>();
  for await (const { lines } of lineGroups(file.read(), maxLineBytes(handler))) {
    for (const line of lines) {
      if (!wanted.has(line.number)) continue;
      const task = checkTask(handler, parseTaskLine(line, maxLineBytes(handler)), line.number, []);
      if (task !== null) found.set(line.number, { id: task.id, payload: JSON.parse(task.payload) });
    }
    if (found.size === wanted.size) break;
  }
  return numbers.flatMap((number) => found.get(number) ?? []);
};
