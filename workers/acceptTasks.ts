import type { AcceptTasks, ActivityDeps } from '../activities/deps';
import { releaseDependents } from '../activities/grouping/dependents';
import { ringLanes } from '../activities/lanes/ring';
import { AsyncSchemaError, InvalidTaskError } from '../client/errors';
import type { Hooks } from '../handlers/hooks/types';
import { withinSubmitSpan } from '../handlers/tracing/submitSpan';
import type { TaskProblem } from '../client/errors';
import { TaskInserter } from '../client/tasks/taskInserter';
import { askAccepting, isRefusal } from '../client/tasks/accepting';
import type { CheckedTask } from '../client/tasks/checkTasks';
import { checkTask } from '../client/tasks/checkTasks';
import { Ringer } from '../client/tasks/ringer';
import { markReady } from '../postgres/lanes/lane';
import { Behind } from '../workflows/behind';

/** Number of a workflow's invalid tasks that are named: its failure is kept in a history. */
const PROBLEMS = 5;

/** Accepts tasks for the activities of this process, with the parts of the client's submit. */
export const createAcceptTasks = (
  deps: Pick<ActivityDeps, 'pool' | 'requests' | 'prefix' | 'leaseMs' | 'log' | 'sealer' | 'outcomes'> & {
    hooks?: Hooks | undefined;
  },
): AcceptTasks => {
  const inserter = new TaskInserter(deps.pool, { sealer: deps.sealer });
  const behind = new Behind(
    () => Promise.resolve(deps.requests),
    (error) => deps.log.warn({ err: error }, 'a ring failed; the sweeper will repeat it'),
  );
  const ringer = new Ringer(deps.pool, behind, deps.prefix, deps.leaseMs);
  return async (handler, tasks, callback) => {
    const problems: TaskProblem[] = [];
    try {
      const checked = tasks
        .map((task, index) => checkTask(handler, { ...task, callback }, index, problems))
        .filter((task): task is CheckedTask => task !== null);
      if (problems.length > 0) return { problem: textOfProblems(problems) };
      await askAccepting(deps.hooks, handler.name, checked);
      const stored = await withinSubmitSpan({ handler: handler.name, tasks: checked.length }, (trace) =>
        inserter.store(handler, checked, { partial: false, trace }),
      );
      if (stored.laneIds.length > 0) {
        await markReady(deps.pool, stored.laneIds);
        await ringLanes(deps, stored.laneIds);
      } else {
        if (stored.hasDependents) await releaseDependents(deps);
        await ringer.ring(stored.targetIds);
      }
      return { repeated: stored.repeated };
    } catch (error) {
      // A full queue is temporary; a problem with a task, or with its handler's schema, is not.
      if (isRefusal(error)) return { problem: error.message };
      if (error instanceof InvalidTaskError || error instanceof AsyncSchemaError) return { problem: error.message };
      throw error;
    }
  };
};

/** Returns the text of a failure that these problems cause. */
export const textOfProblems = (problems: readonly TaskProblem[]): string =>
  problems.slice(0, PROBLEMS).map(textOf).join('\n');

const textOf = ({ index, field, message }: TaskProblem): string => `task ${index}, ${field}: ${message}`;
