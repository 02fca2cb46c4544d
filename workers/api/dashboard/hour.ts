import type { Client } from '../../../client/client';
import { readTime } from '../../../postgres/time';
import type { MinuteOfHandler } from '../../../postgres/dashboard/hour';
import { readEndsByMinute } from '../../../postgres/dashboard/hour';
import type { HourPage } from '../../../workflows/contracts/dashboard';
import { HOUR_MINUTES, hourOf } from '../../../workflows/planning/outcomes/hour';
import type { CountedEnd } from '../../../workflows/planning/outcomes/kinds';
import { ENDS } from '../../../workflows/planning/outcomes/kinds';
import { ratesAt } from '../../../workflows/planning/outcomes/rates';
import type { Limits } from '../tenants/bounds';
import { isAllowed } from '../tenants/bounds';

/** Returns what became of tasks in the last hour, of each handler that these limits show. */
export const readHour = async (client: Client, limits: Limits): Promise<HourPage> => {
  const at = await readTime(client.pool);
  // Handlers are shared among tenants, and not a tenant's to see.
  if (limits.tenant !== null) return { at, handlers: [] };
  const atMs = Date.parse(at);
  const found = await readEndsByMinute(client.pool, at, HOUR_MINUTES);
  const handlers = found
    .filter(({ handler }) => isAllowed(limits.handlers, handler))
    .map(({ handler, minutes: read }) => {
      const minutes = read.map(minuteOf);
      const { callsPerS, endsPerMin } = ratesAt(atMs, minutes);
      return { handler, ...hourOf(atMs, minutes), callsPerS, endsPerMin };
    });
  return { at, handlers };
};

const minuteOf = ([beganS, calls, ends]: MinuteOfHandler) => ({
  minute: new Date(beganS * 1_000).toISOString(),
  calls: { all: calls },
  ends: Object.fromEntries(ENDS.map((end, i) => [end, ends[i] ?? 0])) as Record<CountedEnd, number>,
  // Not drawn: their buckets are what makes a row large.
  latency: [],
  tasks: 0,
});
