/**
 * Whose delivery begins next. A receiver that accepts and never answers takes ten seconds of each
 * delivery: it must not take them from the others. Pure.
 */

/** `host`: null where there is none to wait for, since a workflow is signalled. */
export interface Waiting {
  host: string | null;
}
export interface UnderWay extends Waiting {
  /** By the clock that `nowMs` is of. */
  sinceMs: number;
}
export interface DeliveryLimits {
  /** Begun within `slowMs`: so many at once. Those that wait for longer only hold a connection. */
  fresh: number;
  slowMs: number;
  perHost: number;
  most: number;
}
export const DELIVERY_LIMITS: DeliveryLimits = { fresh: 32, slowMs: 250, perHost: 16, most: 256 };

/** Returns the place of the one that begins next, in the order of `waiting`; -1: none may yet. */
export const nextDelivery = (
  waiting: readonly Waiting[],
  underWay: readonly UnderWay[],
  nowMs: number,
  { fresh, slowMs, perHost, most }: DeliveryLimits = DELIVERY_LIMITS,
): number => {
  if (underWay.length >= most) return -1;
  if (underWay.filter(({ sinceMs }) => nowMs - sinceMs < slowMs).length >= fresh) return -1;
  const busy = countOf(underWay);
  return waiting.findIndex(({ host }) => host === null || (busy.get(host) ?? 0) < perHost);
};

/** Most of one host that are taken ahead: as many again as may be under way. */
export const aheadOf = ({ perHost }: DeliveryLimits = DELIVERY_LIMITS): number => 2 * perHost;

/** Returns the hosts of which nothing more is taken for now: the others' turn is behind theirs. */
export const fullHosts = (
  waiting: readonly Waiting[],
  underWay: readonly Waiting[],
  limits: DeliveryLimits = DELIVERY_LIMITS,
): string[] =>
  [...countOf([...waiting, ...underWay])].filter(([, count]) => count >= aheadOf(limits)).map(([host]) => host);

const countOf = (deliveries: readonly Waiting[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { host } of deliveries) if (host !== null) counts.set(host, (counts.get(host) ?? 0) + 1);
  return counts;
};
