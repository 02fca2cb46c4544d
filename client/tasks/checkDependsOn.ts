import type { Contract } from '../../handlers/types';
import { ON_DEPENDENCY_FAILURE, TASK_DEPENDENCIES_MAX } from '../../workflows/planning/grouping/dependencies';
import { describe } from './describe';
import type { Reject } from './describe';

const NONE: readonly string[] = [];

/**
 * Checks the dependencies of a task, as far as that is possible without other tasks, and returns
 * their ids. Reports problems by `reject`.
 */
export const checkDependsOn = (
  handler: Contract,
  { id, dependsOn, onDependencyFailure }: { id?: unknown; dependsOn?: unknown; onDependencyFailure?: unknown },
  reject: Reject,
): readonly string[] => {
  const refuse = (message: string): readonly string[] => {
    reject('dependsOn', 'INVALID_DEPENDENCY', message);
    return NONE;
  };
  if (onDependencyFailure != null && !(ON_DEPENDENCY_FAILURE as readonly unknown[]).includes(onDependencyFailure))
    reject(
      'onDependencyFailure',
      'INVALID_DEPENDENCY',
      `expected "fail" or "run", got ${describe(onDependencyFailure)}`,
    );
  if (dependsOn === undefined || dependsOn === null) return NONE;
  if (!Array.isArray(dependsOn)) return refuse(`expected an array of task ids, got ${describe(dependsOn)}`);
  const ids = dependsOn as readonly unknown[];
  if (ids.length > TASK_DEPENDENCIES_MAX)
    return refuse(`expected at most ${TASK_DEPENDENCIES_MAX} task ids, got ${ids.length}`);
  if (ids.length > 0 && handler.ordered)
    return refuse(
      `expected no dependencies in a lane, got ${ids.length}: batches of lanes have their own (batches.submit)`,
    );
  for (const [place, one] of ids.entries()) {
    if (typeof one !== 'string' || one === '') return refuse(`expected task ids, got ${describe(one)}`);
    if (one === id) return refuse('expected other tasks, got the task itself');
    if (ids.indexOf(one) < place) return refuse(`expected each task id once, got ${describe(one)} twice`);
  }
  return ids as readonly string[];
};
