import { median, percentile } from '../report/optimum';
import type { Called } from './callers';

/** What single submits came to. Pure. */

export interface SingleResult {
  callers: number;
  tasks: number;
  runs: number;
  /** Accepted per second, as fast as the callers go: Muster against one insert each. */
  ratio: number;
  ratioRange: [number, number];
  perS: { muster: number; floor: number };
  /** A lone insert from call to answer, with nothing beside it: the floor's median. */
  commitMs: number;
  /** By share of the top rate of each side, in ms. */
  latency: Record<string, { muster: Latency; floor: Latency }>;
  /** p99 at half of the top rate, in lone commits. */
  p99AtHalfInCommits: number;
}
export interface Latency {
  p50Ms: number;
  p99Ms: number;
}
export type Side = 'muster' | 'floor';

export const latencyOf = ({ latenciesMs }: Called): Latency => ({
  p50Ms: round(percentile(latenciesMs, 0.5)),
  p99Ms: round(percentile(latenciesMs, 0.99)),
});

export const singleResult = (
  { callers, tasks }: { callers: number; tasks: number },
  runs: Record<Side, readonly Called[]>,
  commitMs: number,
  latency: SingleResult['latency'],
): SingleResult => {
  const rate = ({ seconds }: Called): number => tasks / seconds;
  const perS = (side: Side): number => Math.round(median(runs[side].map(rate)));
  const ratios = runs.muster.map((run, i) => rate(run) / rate(runs.floor[i]!));
  return {
    callers,
    tasks,
    runs: runs.muster.length,
    ratio: round(median(ratios)),
    ratioRange: [round(Math.min(...ratios)), round(Math.max(...ratios))],
    perS: { muster: perS('muster'), floor: perS('floor') },
    commitMs: round(commitMs),
    latency,
    p99AtHalfInCommits: round((latency['0.5']?.muster.p99Ms ?? NaN) / commitMs),
  };
};

const round = (value: number): number => Number(value.toFixed(2));
