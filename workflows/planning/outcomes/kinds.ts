/** What a call came to, as it is counted. */
export const CALL_OUTCOMES = ['results', 'accepted', 'later', 'rejected', 'halted', 'unknown', 'look-again'] as const;
export type CountedOutcome = (typeof CALL_OUTCOMES)[number];

/** What a task's end is counted as; `retried`: it is tried again, in another batch. */
export const ENDS = ['succeeded', 'failed', 'dead', 'cancelled', 'unknown', 'retried'] as const;
export type CountedEnd = (typeof ENDS)[number];

/** Returns counts in the order of their names, as they are stored. */
export const countsOf = <K>(names: readonly K[], counts: ReadonlyMap<K, number>): number[] =>
  names.map((name) => counts.get(name) ?? 0);

/** Upper bounds of the durations of calls: from a call in the same network to one of minutes. */
export const LATENCY_MS = [5, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000] as const;
/**
 * From here on a call is slow, to the alert of deploy/prometheus. It is a bound of the metric's
 * buckets, so that none is taken for slow because of others in its bucket; stored counts have their
 * own bounds.
 */
export const SLOW_MS = 20_000;
/** Upper bounds of the tasks of calls. */
export const SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 10_000] as const;
