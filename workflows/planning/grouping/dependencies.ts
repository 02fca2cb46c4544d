/** Most dependencies of a task. */
export const TASK_DEPENDENCIES_MAX = 100;

/** What happens to a task if one of its dependencies does not succeed. */
export const ON_DEPENDENCY_FAILURE = ['fail', 'run'] as const;
export type OnDependencyFailure = (typeof ON_DEPENDENCY_FAILURE)[number];

/** A task of one call that is not stored yet. */
export interface NewDependent {
  id: string;
  dependsOn: readonly string[];
}

/**
 * Why a task cannot be stored: one of its dependencies does not exist, is refused itself, or is
 * part of a cycle.
 */
export interface DependencyProblem {
  /** Place of the task among the tasks of the call. */
  index: number;
  why: 'unknown' | 'refused' | 'cycle';
  /** The id of the dependency. For a cycle: all ids along it, the first one again at the end. */
  path: readonly string[];
}

export interface DependencyOrder {
  /**
   * Places of the tasks that can be stored, each after the tasks of the call on which it depends.
   */
  order: number[];
  problems: DependencyProblem[];
}

/**
 * Orders the new tasks of one call so that dependencies come first, and otherwise as they came.
 * Refuses tasks with a dependency that is neither in the call nor stored before (`isStored`), and
 * tasks in a cycle. Stored tasks depend on no new one, so a cycle lies within the call. Works
 * without recursion, since chains may be long.
 */
export const orderDependents = (tasks: readonly NewDependent[], isStored: (id: string) => boolean): DependencyOrder => {
  const places = new Map(tasks.map(({ id }, index) => [id, index]));
  const { order, cycles } = walk(tasks, places);
  const problems = new Map<number, DependencyProblem>();
  for (const cycle of cycles) {
    const path = [...cycle, cycle[0]!].map((index) => tasks[index]!.id);
    for (const index of cycle) if (!problems.has(index)) problems.set(index, { index, why: 'cycle', path });
  }
  for (const [index, { dependsOn }] of tasks.entries()) {
    const missing = dependsOn.find((id) => !places.has(id) && !isStored(id));
    if (missing !== undefined && !problems.has(index)) problems.set(index, { index, why: 'unknown', path: [missing] });
  }
  refuseBehind(tasks, places, problems);
  return {
    order: order.filter((index) => !problems.has(index)),
    problems: [...problems.values()].sort((a, b) => a.index - b.index),
  };
};

/**
 * Walks depth first, so that dependencies come first in `order`, and returns each cycle that it
 * meets.
 */
const walk = (
  tasks: readonly NewDependent[],
  places: ReadonlyMap<string, number>,
): { order: number[]; cycles: number[][] } => {
  const order: number[] = [];
  const cycles: number[][] = [];
  const done = new Set<number>();
  /** Of what is not done: where it is on the path. */
  const depth = new Map<number, number>();
  for (const start of tasks.keys()) {
    const path = done.has(start) ? [] : [{ index: start, next: 0 }];
    depth.set(start, 0);
    while (path.length > 0) {
      const here = path.at(-1)!;
      const id = tasks[here.index]!.dependsOn[here.next++];
      const needed = id === undefined ? undefined : places.get(id);
      if (id === undefined) {
        done.add(here.index);
        order.push(here.index);
        path.pop();
      } else if (needed !== undefined && !done.has(needed)) {
        const from = depth.get(needed);
        if (from !== undefined) cycles.push(path.slice(from).map(({ index }) => index));
        else {
          depth.set(needed, path.length);
          path.push({ index: needed, next: 0 });
        }
      }
    }
  }
  return { order, cycles };
};

/** Refuses the tasks that depend, directly or through others, on a refused task of the call. */
const refuseBehind = (
  tasks: readonly NewDependent[],
  places: ReadonlyMap<string, number>,
  problems: Map<number, DependencyProblem>,
): void => {
  const dependents = new Map<number, number[]>();
  for (const [index, { dependsOn }] of tasks.entries())
    for (const id of dependsOn) {
      const needed = places.get(id);
      if (needed === undefined) continue;
      const behind = dependents.get(needed);
      if (behind === undefined) dependents.set(needed, [index]);
      else behind.push(index);
    }
  const queue = [...problems.keys()];
  for (let at = 0; at < queue.length; at++)
    for (const index of dependents.get(queue[at]!) ?? []) {
      if (problems.has(index)) continue;
      problems.set(index, { index, why: 'refused', path: [tasks[queue[at]!]!.id] });
      queue.push(index);
    }
};
