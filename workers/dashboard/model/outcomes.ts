import type { MinuteOutcomes } from '../../../workflows/contracts/outcomes';
import { addCounts, quantile } from '../../../workflows/planning/outcomes/histogram';
import type { CountedEnd } from '../../../workflows/planning/outcomes/kinds';
import { LATENCY_MS, SIZES } from '../../../workflows/planning/outcomes/kinds';
import type { Rates } from '../../../workflows/planning/outcomes/rates';
import { counted, duration, namedCounts, number } from './format';

/** What calls and tasks came to, in words and figures. */

/** Calls by the number of their tasks. */
export interface Bucket {
  label: string;
  calls: number;
}

/** Returns the buckets from the smallest batch that was sent to the largest; none: no calls. */
export const bucketsOf = (sizes: readonly number[]): Bucket[] => {
  const first = sizes.findIndex((n) => n > 0);
  const last = sizes.findLastIndex((n) => n > 0);
  return sizes.slice(Math.max(0, first), last + 1).map((calls, i) => ({ label: sizeAt(first + i), calls }));
};

const sizeAt = (bucket: number): string => {
  const to = SIZES[bucket];
  const from = (SIZES[bucket - 1] ?? 0) + 1;
  if (to === undefined) return `over ${counted(from - 1, 'task')}`;
  return from === to ? counted(to, 'task') : `${number(from)} to ${counted(to, 'task')}`;
};

/** What the calls of one handler came to, in all minutes that are given. */
export interface Calls {
  p50Ms: number | null;
  p99Ms: number | null;
  /** How many calls, by what they came to. */
  text: string;
  /** How many batches, by why each was closed. */
  reasons: string;
  sizes: Bucket[];
}

const sumOf = (all: readonly Readonly<Record<string, number>>[]): Map<string, number> => {
  const sum = new Map<string, number>();
  for (const one of all) for (const [name, n] of Object.entries(one)) sum.set(name, (sum.get(name) ?? 0) + n);
  return sum;
};

/** Writes counts with their sum: `12 calls: 10 results, 2 later`. */
const listed = (counts: ReadonlyMap<string, number>, noun: string, plural?: string): string => {
  const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
  return all === 0 ? 'none' : `${counted(all, noun, plural)}: ${namedCounts(counts)}`;
};

export const callsOf = (outcomes: readonly MinuteOutcomes[]): Calls => {
  const latency = outcomes.reduce<number[]>((sum, one) => addCounts(sum, one.latency), []);
  const sizes = outcomes.reduce<number[]>((sum, one) => addCounts(sum, one.sizes), []);
  return {
    p50Ms: quantile(LATENCY_MS, latency, 0.5),
    p99Ms: quantile(LATENCY_MS, latency, 0.99),
    text: listed(sumOf(outcomes.map(({ calls }) => calls)), 'call'),
    reasons: listed(sumOf(outcomes.map(({ reasons }) => reasons)), 'batch', 'batches'),
    sizes: bucketsOf(sizes),
  };
};

/** Writes the latencies of calls. */
export const latency = (p50Ms: number | null, p99Ms: number | null): string =>
  p50Ms === null || p99Ms === null ? 'no calls' : `p50 ${duration(p50Ms)}, p99 ${duration(p99Ms)}`;

/** What a handler does now, in figures. */
export interface Figures {
  callsPerS: string;
  endsPerMin: string;
  /** Ends by the state of the task. */
  ends: string;
}

const LEAST = 0.05;
/** Writes a rate, so that a low one is not taken for none. */
const rate = (n: number): string => (n > 0 && n < LEAST ? '< 0.1' : number(n));

/** Tasks that are tried again have not ended. */
const isEnd = (kind: string): boolean => kind !== ('retried' satisfies CountedEnd);

export const figuresOf = ({ callsPerS, endsPerMin }: Pick<Rates, 'callsPerS' | 'endsPerMin'>): Figures => {
  const ends = Object.entries(endsPerMin).filter(([kind]) => isEnd(kind));
  return {
    callsPerS: rate(callsPerS),
    endsPerMin: rate(ends.reduce((sum, [, n]) => sum + n, 0)),
    ends: namedCounts(ends, rate),
  };
};
