/**
 * Decides which delivery begins next. A receiver that accepts and never answers takes ten seconds
 * per delivery: it must not take them from the others. Pure.
 */

/** `host`: null where there is no host to wait for, since a workflow is signalled. */
export interface Waiting {
  host: string | null;
}
export interface UnderWay extends Waiting {
  /** By the same clock as `nowMs`. */
  sinceMs: number;
}
export interface DeliveryLimits {
  /** Most deliveries at once that began within `slowMs`. Older ones only hold a connection. */
  fresh: number;
  slowMs: number;
  perHost: number;
  most: number;
}
export const DELIVERY_LIMITS: DeliveryLimits = { fresh: 32, slowMs: 250, perHost: 16, most: 256 };

/** Returns the index in `waiting` of the delivery that begins next; -1: none may yet. */
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

/** Returns how many deliveries of one host are taken ahead: as many again as may be in progress. */
export const aheadOf = ({ perHost }: DeliveryLimits = DELIVERY_LIMITS): number => 2 * perHost;

/**
 * Returns the hosts for which nothing more is taken for now: other hosts' deliveries would have to
 * wait behind theirs.
 */
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
