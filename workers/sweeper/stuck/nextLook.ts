import type { StuckLimits } from '../stuckRun';
import type { Memory } from './memory';
import { firstOverstays } from './timedActivities';

interface Times {
  task: { isStarted: boolean } | null;
  taskTimeoutMs: number | null;
  quiet: { forMs: number } | null;
}

/**
 * Returns the first of a run's time limits that lies ahead; Infinity: none does. A look right then
 * finds what the regular one would find seconds later. A limit that has passed and was not enough
 * waits for the regular look.
 */
export const nextTimeOut = (
  memory: Pick<Memory, 'task' | 'quiet' | 'timed'>,
  run: Times,
  limits: Pick<StuckLimits, 'lostMs' | 'overMs'>,
  now: number,
): number => {
  const { task, quiet, timed } = memory;
  const taskMs = run.task?.isStarted === true ? (run.taskTimeoutMs ?? Infinity) + limits.overMs : limits.lostMs;
  const timeOuts = [
    task === null ? Infinity : task.since + taskMs,
    quiet === null || run.quiet === null ? Infinity : quiet.since + run.quiet.forMs + limits.lostMs,
    firstOverstays(timed, limits.lostMs),
  ];
  return Math.min(Infinity, ...timeOuts.filter((at) => at > now));
};
