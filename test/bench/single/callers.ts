import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchTask } from '../tasks';
import { taskAt } from '../tasks';

/** Callers with one task each, the same for every side. */

export interface Calls {
  run: string;
  tasks: number;
  targets: number;
  callers: number;
  /** Missing: each caller calls again as soon as it has its answer. */
  perS?: number;
}
export interface Called {
  seconds: number;
  /** Of each call, sorted. With a rate: from when it was due. */
  latenciesMs: number[];
}
type Store = (task: BenchTask) => Promise<unknown>;

export const call = async (calls: Calls, store: Store): Promise<Called> => {
  // Latencies are of targets that are there, with leaders: to begin fifty leaders takes longer.
  if (calls.perS !== undefined)
    for (let n = 0; n < calls.targets; n++) await store(taskAt(calls.run, calls.tasks + n, calls.targets, false));
  const startedAt = performance.now();
  const latenciesMs: number[] = [];
  const one = async (n: number, dueAt: number): Promise<void> => {
    await store(taskAt(calls.run, n, calls.targets, false));
    latenciesMs.push(performance.now() - dueAt);
  };
  if (calls.perS === undefined) await closed(calls, one);
  else await open(calls, calls.perS, one);
  return { seconds: (performance.now() - startedAt) / 1_000, latenciesMs: latenciesMs.sort((a, b) => a - b) };
};

type One = (n: number, dueAt: number) => Promise<void>;

const closed = async ({ tasks, callers }: Calls, one: One): Promise<void> => {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < tasks) await one(next++, performance.now());
  };
  await Promise.all(Array.from({ length: callers }, caller));
};

/** Evenly over the time, whoever is still waiting. */
const open = async ({ tasks }: Calls, perS: number, one: One): Promise<void> => {
  const startedAt = performance.now();
  const flying: Promise<void>[] = [];
  for (let n = 0; n < tasks;) {
    for (; n < tasks; n++) {
      const dueAt = startedAt + (n * 1_000) / perS;
      if (dueAt > performance.now()) break;
      flying.push(one(n, dueAt));
    }
    await sleep(1);
  }
  await Promise.all(flying);
};
