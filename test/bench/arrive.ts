import { setTimeout as sleep } from 'node:timers/promises';
import { LIVE_SUBMIT_EVERY_MS, SUBMIT_CHUNK } from './cases';
import { tellParent } from './rig/child';
import type { BenchTask } from './tasks';
import { taskAt } from './tasks';

/**
 * How tasks come in, the same for both sides; `store` commits some of them. Says after every commit
 * how many are in.
 */

export interface Arrivals {
  run: string;
  tasks: number;
  targets: number;
  /** Missing: as fast as `store` goes, one chunk after another. */
  overMs?: number;
}
export interface Progress {
  tasks: number;
}
type Store = (tasks: BenchTask[]) => Promise<unknown>;

export const arrive = (arrivals: Arrivals, store: Store): Promise<void> =>
  arrivals.overMs === undefined ? arriveAtOnce(arrivals, store) : arriveOver(arrivals, arrivals.overMs, store);

const arriveAtOnce = async ({ run, tasks, targets }: Arrivals, store: Store): Promise<void> => {
  for (let first = 0; first < tasks; first += SUBMIT_CHUNK) {
    const n = Math.min(SUBMIT_CHUNK, tasks - first);
    await store(Array.from({ length: n }, (_, i) => taskAt(run, first + i, targets, false)));
    tellParent({ tasks: first + n } satisfies Progress);
  }
};

/**
 * Evenly over the time; what has come since the last look is submitted together, without waiting
 * for the one before.
 */
const arriveOver = async ({ run, tasks, targets }: Arrivals, overMs: number, store: Store): Promise<void> => {
  const startedAt = performance.now();
  const stores: Promise<unknown>[] = [];
  for (let first = 0; first < tasks;) {
    await sleep(LIVE_SUBMIT_EVERY_MS);
    const due = Math.min(tasks, Math.floor(((performance.now() - startedAt) / overMs) * tasks));
    if (due > first)
      stores.push(store(Array.from({ length: due - first }, (_, i) => taskAt(run, first + i, targets, true))));
    first = due;
  }
  await Promise.all(stores);
};
