import type { OutcomeRow } from '../../postgres/outcomes/minute';
import { readOutcomes } from '../../postgres/outcomes/minute';
import { readTime } from '../../postgres/time';
import type { MinuteOutcomes, OutcomePage } from '../../workflows/contracts/outcomes';
import { quantile } from '../../workflows/planning/outcomes/histogram';
import { CALL_OUTCOMES, ENDS, LATENCY_MS, SIZES } from '../../workflows/planning/outcomes/kinds';
import { PAGE_MAX } from '../../workflows/planning/pages';
import type { FlushReason } from '../../workflows/planning/states';
import { FLUSH_REASONS } from '../../workflows/planning/states';
import { checkTime, checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { decodePlace, encodePlace } from '../listing/pageCursor';
import { findScope } from '../operations/scope';

/** Options of `outcomes.list`: of which handlers and minutes, and which page of them. */
export interface ListOutcomesOptions {
  /** Only of this handler; default: of all. */
  handler?: string;
  /** The first minute: a date, ISO time or Unix milliseconds in it. Default: an hour ago. */
  since?: Date | string | number;
  /** The last minute, in the same form. Default: this one. */
  until?: Date | string | number;
  /** Most rows of the page, 1 to 1,000. Default 1,000. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

const LOOK_BACK_MS = 3_600_000;
/** After all: in the year 9999. */
const NEWEST: readonly [minuteMs: number, handlerId: number] = [253_402_300_799_999, 0];

export const listOutcomes = async (client: ClientContext, options: ListOutcomesOptions = {}): Promise<OutcomePage> => {
  const limit = checkWhole('limit', options.limit ?? PAGE_MAX, 1, PAGE_MAX);
  const [minuteMs, before] = decodePlace('outcomes', NEWEST, options.after);
  const since = options.since === undefined ? null : checkTime('since', options.since);
  const until = options.until === undefined ? null : checkTime('until', options.until);
  const handlerId = options.handler === undefined ? null : (await findScope(client, options.handler)).handlerId;
  await client.ready();
  const at = new Date(await readTime(client.pool));
  const scope = { handlerId, since: since ?? new Date(at.getTime() - LOOK_BACK_MS), until: until ?? at };
  const rows = await readOutcomes(client.pool, scope, { minuteMs, handlerId: before }, limit);
  const last = rows.at(-1);
  const next = last === undefined || rows.length < limit ? null : [last.minute.getTime(), last.handlerId];
  return {
    outcomes: rows.map(toView),
    bounds: { latencyMs: [...LATENCY_MS], tasks: [...SIZES] },
    at: at.toISOString(),
    next: next === null ? null : encodePlace('outcomes', next),
  };
};

const named = <K extends string>(names: readonly K[], counts: readonly number[]): Record<K, number> =>
  Object.fromEntries(names.map((name, i) => [name, counts[i] ?? 0])) as Record<K, number>;

/** A row of a minute without calls has none: ends alone were counted. */
const padded = (counts: readonly number[], n: number): number[] => Array.from({ length: n }, (_, i) => counts[i] ?? 0);

const toView = ({ minute, handlerId: _, calls, ends, reasons, ...row }: OutcomeRow): MinuteOutcomes => ({
  ...row,
  minute: minute.toISOString(),
  calls: named(CALL_OUTCOMES, calls),
  ends: named(ENDS, ends),
  reasons: Object.fromEntries(
    Object.entries(FLUSH_REASONS).map(([name, code]) => [name, reasons[code] ?? 0]),
  ) as Record<FlushReason, number>,
  latency: padded(row.latency, LATENCY_MS.length + 1),
  sizes: padded(row.sizes, SIZES.length + 1),
  p50Ms: quantile(LATENCY_MS, row.latency, 0.5),
  p99Ms: quantile(LATENCY_MS, row.latency, 0.99),
});
