import type { MinuteOutcomes, OutcomePage } from '../../../workflows/contracts/outcomes';
import { addCounts, quantile } from '../../../workflows/planning/outcomes/histogram';
import { LATENCY_MS } from '../../../workflows/planning/outcomes/kinds';
import { ratesAt } from '../../../workflows/planning/outcomes/rates';
import { useLive } from '../api/live';
import { counted, duration, number } from '../model/format';
import { apiPath } from '../model/place';
import { Facts } from './basic';
import { hourOf, Spark } from './spark';

const EVERY_MS = 10_000;

/** What the calls of a handler came to: in the last minute, and in the last hour. */
export const Calls = ({ handler }: { handler: string }) => {
  const { data } = useLive<OutcomePage>(apiPath(['v1', 'outcomes'], { handler }), EVERY_MS);
  if (data === null) return null;
  const { outcomes, at } = data;
  const { callsPerS, tasksPerCall, p50Ms, p99Ms } = ratesAt(Date.parse(at), outcomes);
  const hour = sumOf(outcomes);
  return (
    <>
      <h2>Calls</h2>
      <Facts
        facts={[
          ['calls per second', number(callsPerS)],
          ['tasks per call', tasksPerCall === null ? 'no calls' : number(tasksPerCall)],
          ['latency in the last minute', latency(p50Ms, p99Ms)],
          ['latency in the last hour', latency(hour.p50Ms, hour.p99Ms)],
          ['calls in the last hour', hour.text],
          ['ends of tasks in the last hour', <Spark hour={hourOf(data)} handler={handler} />],
        ]}
      />
    </>
  );
};

const latency = (p50Ms: number | null, p99Ms: number | null): string =>
  p50Ms === null || p99Ms === null ? 'no calls' : `p50 ${duration(p50Ms)}, p99 ${duration(p99Ms)}`;

interface Hour {
  p50Ms: number | null;
  p99Ms: number | null;
  /** How many calls, by what they came to. */
  text: string;
}
const sumOf = (outcomes: readonly MinuteOutcomes[]): Hour => {
  const counts = outcomes.reduce<number[]>((sum, { latency: one }) => addCounts(sum, one), []);
  const kinds = new Map<string, number>();
  for (const { calls } of outcomes)
    for (const [kind, n] of Object.entries(calls)) kinds.set(kind, (kinds.get(kind) ?? 0) + n);
  const some = [...kinds].filter(([, n]) => n > 0).map(([kind, n]) => `${number(n)} ${kind}`);
  const all = [...kinds.values()].reduce((sum, n) => sum + n, 0);
  return {
    p50Ms: quantile(LATENCY_MS, counts, 0.5),
    p99Ms: quantile(LATENCY_MS, counts, 0.99),
    text: all === 0 ? 'none' : `${counted(all, 'call')}: ${some.join(', ')}`,
  };
};
