/**
 * Decides which delivery starts next. A receiver that accepts connections and never answers costs
 * ten seconds per delivery, and must not delay the other receivers. Pure.
 */

/**
 * A delivery that has not started. `host` is null for a workflow, which is signalled: no limit per
 * host applies.
 */
export interface Waiting {
  host: string | null;
}
/** A delivery in progress. */
export interface UnderWay extends Waiting {
  /** When it started, by the same clock as `nowMs`. */
  sinceMs: number;
}
export interface DeliveryLimits {
  /**
   * Most deliveries in progress that started within `slowMs`. Older ones merely hold a connection.
   */
  fresh: number;
  slowMs: number;
  /** Most deliveries in progress per host, and in all. */
  perHost: number;
  most: number;
}
export const DELIVERY_LIMITS: DeliveryLimits = { fresh: 32, slowMs: 250, perHost: 16, most: 256 };

/** Returns the index in `waiting` of the delivery that starts next; -1: none may start yet. */
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

/**
 * Returns the most deliveries per host that a process holds, waiting or in progress: twice as many
 * as may be in progress.
 */
export const aheadOf = ({ perHost }: DeliveryLimits = DELIVERY_LIMITS): number => 2 * perHost;

/**
 * Returns the hosts for which no more deliveries are taken for now, so that they do not crowd out
 * the other hosts'.
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
