import { addCounts, quantile } from './histogram';
import type { CountedEnd } from './kinds';
import { ENDS, LATENCY_MS } from './kinds';

/** What calls and ends came to in one minute. */
interface Minute {
  minute: string;
  calls: Readonly<Record<string, number>>;
  ends: Readonly<Record<CountedEnd, number>>;
  latency: readonly number[];
  tasks: number;
}

/** What a handler does now: over about the last minute. */
export interface Rates {
  callsPerS: number;
  endsPerMin: Record<CountedEnd, number>;
  /** Null: no calls. */
  p50Ms: number | null;
  p99Ms: number | null;
  tasksPerCall: number | null;
}

const MINUTE_MS = 60_000;

/**
 * Returns the rates of one handler at a time: of this minute as far as it has come, and of the part
 * of the last one that makes it a whole minute.
 */
export const ratesAt = (atMs: number, minutes: readonly Minute[]): Rates => {
  const beganMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  const shares = new Map([
    [beganMs, 1],
    [beganMs - MINUTE_MS, 1 - (atMs - beganMs) / MINUTE_MS],
  ]);
  let [calls, tasks] = [0, 0];
  let latency: number[] = [];
  const ends = Object.fromEntries(ENDS.map((end) => [end, 0])) as Record<CountedEnd, number>;
  for (const one of minutes) {
    const share = shares.get(Date.parse(one.minute)) ?? 0;
    calls += share * Object.values(one.calls).reduce((sum, n) => sum + n, 0);
    tasks += share * one.tasks;
    for (const end of ENDS) ends[end] += share * one.ends[end];
    latency = addCounts(
      latency,
      one.latency.map((n) => share * n),
    );
  }
  return {
    callsPerS: calls / (MINUTE_MS / 1_000),
    endsPerMin: ends,
    p50Ms: quantile(LATENCY_MS, latency, 0.5),
    p99Ms: quantile(LATENCY_MS, latency, 0.99),
    tasksPerCall: calls === 0 ? null : tasks / calls,
  };
};
