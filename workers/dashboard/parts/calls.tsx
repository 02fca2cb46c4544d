import type { OutcomePage } from '../../../workflows/contracts/outcomes';
import { hourOf } from '../../../workflows/planning/outcomes/hour';
import { ratesAt } from '../../../workflows/planning/outcomes/rates';
import { useLive } from '../api/live';
import { counted, number } from '../model/format';
import type { Bucket } from '../model/outcomes';
import { callsOf, figuresOf, latency } from '../model/outcomes';
import { apiPath } from '../model/place';
import { Facts, Meter } from './basic';
import { Spark } from './spark';

const EVERY_MS = 10_000;

/** What the calls of a handler came to: in the last minute, and in the last hour. */
export const Calls = ({ handler }: { handler: string }) => {
  const { data } = useLive<OutcomePage>(apiPath(['v1', 'outcomes'], { handler }), EVERY_MS);
  if (data === null) return null;
  const { outcomes, at } = data;
  const rates = ratesAt(Date.parse(at), outcomes);
  const { callsPerS, endsPerMin, ends } = figuresOf(rates);
  const hour = callsOf(outcomes);
  return (
    <>
      <h2>Calls</h2>
      <Facts
        facts={[
          ['calls per second', callsPerS],
          ['tasks per call', rates.tasksPerCall === null ? 'no calls' : number(rates.tasksPerCall)],
          ['ends of tasks per minute', <span title={ends}>{endsPerMin}</span>],
          ['latency in the last minute', latency(rates.p50Ms, rates.p99Ms)],
          ['latency in the last hour', latency(hour.p50Ms, hour.p99Ms)],
          ['calls in the last hour', hour.text],
          ['why batches were closed in the last hour', hour.reasons],
          ['ends of tasks in the last hour', <Spark hour={hourOf(Date.parse(at), outcomes)} />],
        ]}
      />
      {hour.sizes.length > 0 && <Sizes sizes={hour.sizes} />}
    </>
  );
};

/** How many tasks the calls had. */
const Sizes = ({ sizes }: { sizes: readonly Bucket[] }) => {
  const all = sizes.reduce((sum, { calls }) => sum + calls, 0);
  return (
    <>
      <h2>Batch sizes in the last hour</h2>
      <div class="meters">
        {sizes.map(({ label, calls }) => (
          <Meter key={label} label={label} n={calls} of={all} text={counted(calls, 'call')} />
        ))}
      </div>
    </>
  );
};
