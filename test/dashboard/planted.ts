import type { HourPage } from '../../workflows/contracts/dashboard';
import type { OutcomePage } from '../../workflows/contracts/outcomes';
import { hourOf } from '../../workflows/planning/outcomes/hour';
import { ratesAt } from '../../workflows/planning/outcomes/rates';

/** Outcomes as no small store has them: of this minute, and of one half an hour ago. */

export const minute = new Date(Math.floor(Date.now() / 60_000) * 60_000).toISOString();
const earlier = new Date(Date.parse(minute) - 1_800_000).toISOString();

const zeros = (n: number): number[] => Array<number>(n).fill(0);
const CALLS = { results: 0, accepted: 0, later: 0, rejected: 0, halted: 0, unknown: 0, 'look-again': 0 };
const ENDS = { succeeded: 0, failed: 0, dead: 0, cancelled: 0, unknown: 0, retried: 0 };
type Reasons = OutcomePage['outcomes'][number]['reasons'];
const reasons = (given: Partial<Reasons>): Reasons => given as Reasons;

export const outcomesOf = (handler: string): OutcomePage => ({
  outcomes: [
    {
      ...{ handler, minute, tasks: 4_003, callMs: 3_000, p50Ms: null, p99Ms: null },
      ends: { ...ENDS, succeeded: 4_000, failed: 3, retried: 9 },
      calls: { ...CALLS, results: 38, later: 2 },
      latency: [0, 0, 0, 40], // all between 50 and 100 ms
      sizes: [...zeros(6), 38, 2], // up to 100 tasks, and up to 250
      reasons: reasons({ size: 39, linger: 1 }),
    },
    {
      ...{ handler, minute: earlier, tasks: 60, callMs: 1_200_000, p50Ms: null, p99Ms: null },
      ...{ ends: ENDS, calls: { ...CALLS, results: 60 } },
      latency: [...zeros(10), 60], // all between 10 and 30 s
      sizes: [60],
      reasons: reasons({ linger: 60 }),
    },
  ],
  bounds: { latencyMs: [], tasks: [] },
  at: minute,
  next: null,
});

/** The same as the overview reads it. */
export const hourPageOf = (handler: string): HourPage => {
  const { outcomes, at } = outcomesOf(handler);
  const { callsPerS, endsPerMin } = ratesAt(Date.parse(at), outcomes);
  return { at, handlers: [{ handler, ...hourOf(Date.parse(at), outcomes), callsPerS, endsPerMin }] };
};
