import { percentile } from '../report/optimum';

/** What an overload came to. Pure. */

export interface Observed {
  /** Calls per second that the downstream takes, and tasks of one. */
  perSecond: number;
  items: number;
  /** Of the overload, `performance.now()`. */
  from: number;
  to: number;
  /** Applied tasks of the limited handler. */
  applied: readonly { id: string; at: number }[];
  /** How long tasks beside it took to the downstream, in ms: before the overload, and within. */
  besideBefore: readonly number[];
  besideWithin: readonly number[];
  /** Those submitted around the time when a worker was killed: some were that worker's. */
  besideKill: readonly number[];
  /** Memory of all workers, in MB, sampled evenly over the overload. */
  memoryMb: readonly number[];
}

export interface Figures {
  /** Tasks applied, of those that the downstream would take in that time. Goal: 0.95. */
  goodput: number;
  doubled: number;
  beside: { p50Ms: [number, number]; p99Ms: [number, number]; longestAroundKillMs: number };
  /** Memory of the last quarter, of that of the second: the first warms up. */
  memoryGrowth: number;
}

export const figuresOf = ({ perSecond, items, from, to, ...seen }: Observed): Figures => {
  const within = seen.applied.filter(({ at }) => at >= from && at < to);
  const possible = (perSecond * items * (to - from)) / 1_000;
  const both = (p: number): [number, number] => [
    round(percentile([...seen.besideBefore], p)),
    round(percentile([...seen.besideWithin], p)),
  ];
  const quarter = Math.floor(seen.memoryMb.length / 4);
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
  return {
    goodput: round(within.length / possible, 3),
    doubled: seen.applied.length - new Set(seen.applied.map(({ id }) => id)).size,
    beside: { p50Ms: both(0.5), p99Ms: both(0.99), longestAroundKillMs: Math.round(Math.max(0, ...seen.besideKill)) },
    memoryGrowth: round(
      mean(seen.memoryMb.slice(-quarter)) / Math.max(1, mean(seen.memoryMb.slice(quarter, 2 * quarter))),
    ),
  };
};

/** Returns the part of its tasks that a burst of refusals cost in the `ms` that follow its end. */
export const costOfBurst = (
  applied: readonly { at: number }[],
  { endedAt, before, ms }: { endedAt: number; before: { from: number; to: number }; ms: number },
): number => {
  const count = (from: number, to: number): number => applied.filter(({ at }) => at >= from && at < to).length;
  const usual = (count(before.from, before.to) * ms) / (before.to - before.from);
  return round(1 - count(endedAt, endedAt + ms) / usual, 3);
};

const round = (value: number, digits = 2): number => Number(value.toFixed(digits));
