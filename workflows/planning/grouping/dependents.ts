import { taskStateName, TASK_STATES } from '../states';

/** One dependency of a task, as stored. */
export interface Need {
  /** The task that waits, and the task for which it waits, which was stored earlier. */
  seq: number;
  needs: number;
  needsId: string;
  place: number;
  /** The task runs even if this dependency did not succeed. */
  run: boolean;
  /** How the dependency ended, a number of `TASK_STATES`; null: it has not ended. */
  state: number | null;
}

export interface DependentsPlan {
  /** Dependencies whose end is now known. */
  marks: { seq: number; needs: number; state: number }[];
  /** Held tasks whose dependencies have all ended. */
  released: number[];
  /** Held tasks that fail because of a dependency. */
  failed: { seq: number; error: string }[];
}

/**
 * Decides what becomes of tasks whose dependencies have ended. `ends` has the new ends by seq,
 * `needs` all dependencies of the tasks that wait for those, and `held` the tasks among them that
 * are still held. A task that fails also fails its own dependents, as far as they are given. One
 * pass suffices: tasks are decided in the order in which they were stored, dependencies before
 * dependents.
 */
export const planDependents = (
  ends: ReadonlyMap<number, number>,
  needs: readonly Need[],
  held: ReadonlySet<number>,
): DependentsPlan => {
  const known = new Map(ends);
  const plan: DependentsPlan = { marks: [], released: [], failed: [] };
  for (const [seq, all] of groupBySeq(needs)) {
    const states = all.map((need) => need.state ?? known.get(need.needs) ?? null);
    all.forEach(({ needs: on, state }, i) => {
      if (state === null && states[i] !== null) plan.marks.push({ seq, needs: on, state: states[i]! });
    });
    if (!held.has(seq)) continue;
    const bad = all.findIndex(({ run }, i) => !run && states[i] !== null && states[i] !== TASK_STATES.succeeded);
    if (bad >= 0) {
      plan.failed.push({ seq, error: dependencyError(all[bad]!.needsId, states[bad]!) });
      known.set(seq, TASK_STATES.failed);
    } else if (!states.includes(null)) plan.released.push(seq);
  }
  return plan;
};

const groupBySeq = (needs: readonly Need[]): [number, Need[]][] => {
  const groups = new Map<number, Need[]>();
  for (const need of needs) groups.set(need.seq, [...(groups.get(need.seq) ?? []), need]);
  return [...groups].sort(([a], [b]) => a - b).map(([seq, group]) => [seq, group.sort((a, b) => a.place - b.place)]);
};

const HOW: Readonly<Record<string, string>> = { dead: 'is dead', cancelled: 'was cancelled' };
const dependencyError = (id: string, state: number): string =>
  `dependency "${id}" ${HOW[taskStateName(state)] ?? 'failed'}`;
