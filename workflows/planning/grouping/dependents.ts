import { taskStateName, TASK_STATES } from '../states';

/** One dependency of a task, as it is stored. */
export interface Need {
  /** The task that waits, and what it waits for; the latter was stored first. */
  seq: number;
  needs: number;
  needsId: string;
  place: number;
  /** The task runs also where this one did not succeed. */
  run: boolean;
  /** How it ended, a number of `TASK_STATES`; null: not yet. */
  state: number | null;
}

export interface DependentsPlan {
  /** Dependencies whose end is now known. */
  marks: { seq: number; needs: number; state: number }[];
  /** Held tasks that wait for nothing more. */
  released: number[];
  /** Held tasks that end because of a dependency. */
  failed: { seq: number; error: string }[];
}

/**
 * Decides what becomes of tasks whose dependencies have ended. `ends`: the ends that are news;
 * `needs`: all dependencies of the tasks that wait for them; `held`: those of the tasks that still
 * wait. A task that fails takes with it those that depend on it, as far as they are among these:
 * tasks are decided in the order in which they were stored, so that is one pass.
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
