import type { Rates } from '../../../workflows/planning/outcomes/rates';
import { ratesAt } from '../../../workflows/planning/outcomes/rates';
import type { HandlerStatus, OutcomePage } from '../../views';
import { remark } from '../look/status';

/** A handler as `muster top` shows it. */
export interface TopRow extends Rates {
  handler: string;
  /** Tasks that are in no batch yet. */
  waiting: number;
  oldestMs: number | null;
  inFlightCalls: number;
  /** Why it does not go on, or what else is to be known; empty: nothing. */
  note: string;
}

/** Puts together what waits and what was done. */
export const topRows = (list: readonly HandlerStatus[], { outcomes, at }: OutcomePage): TopRow[] =>
  list.map((status) => ({
    handler: status.handler,
    waiting: status.counts.created,
    oldestMs: status.oldestQueuedMs,
    inFlightCalls: status.inFlightCalls,
    ...ratesAt(
      Date.parse(at),
      outcomes.filter(({ handler }) => handler === status.handler),
    ),
    note: remark(status),
  }));

const bad = ({ endsPerMin }: TopRow): number => endsPerMin.failed + endsPerMin.dead + endsPerMin.unknown;

/** What the rows are sorted by, by the key that is pressed: the largest first. */
export const ORDERS = {
  h: { name: 'handler', value: null },
  w: { name: 'waiting', value: ({ waiting }: TopRow): number => waiting },
  o: { name: 'oldest', value: ({ oldestMs }: TopRow): number => oldestMs ?? -1 },
  f: { name: 'in flight', value: ({ inFlightCalls }: TopRow): number => inFlightCalls },
  c: { name: 'calls', value: ({ callsPerS }: TopRow): number => callsPerS },
  e: { name: 'errors', value: bad },
  l: { name: 'latency', value: ({ p99Ms }: TopRow): number => p99Ms ?? -1 },
} as const;
export type OrderKey = keyof typeof ORDERS;
export const isOrderKey = (key: string): key is OrderKey => Object.hasOwn(ORDERS, key);

export const sortedBy = (rows: readonly TopRow[], key: OrderKey): TopRow[] => {
  const { value } = ORDERS[key];
  return rows.toSorted((a, b) => (value === null ? 0 : value(b) - value(a)) || (a.handler < b.handler ? -1 : 1));
};
