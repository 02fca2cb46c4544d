import { byCodePoint } from './order';

/** A node says that it holds a partition. */
export interface Claim {
  partition: string;
  node: string;
  epoch: number;
  /** Since it said so last. */
  ageMs: number;
}

export interface Claims {
  /** Who holds what. */
  holders: Map<string, Claim>;
  /**
   * Claimed by two nodes under one epoch: both lose it, and `assign` gives it out under a new one.
   */
  claimedTwice: string[];
  /** Claims that count for nothing: too old, or under an epoch that is over. */
  stale: Claim[];
}

/**
 * Of those who say that they hold a partition, the one with the higher epoch does; of two with the
 * same epoch neither. Stale claims take no part: older than `leaseMs`, or under another epoch than
 * the stored one where that is known (a lower one is over, nobody was given a higher one). Sorted
 * by partition, epoch and node, whatever the order of the rows.
 */
export const claims = (
  rows: readonly Claim[],
  { leaseMs, epochs }: { leaseMs: number; epochs?: ReadonlyMap<string, number> },
): Claims => {
  const sorted = [...rows].sort(
    (a, b) =>
      byCodePoint(a.partition, b.partition) || b.epoch - a.epoch || byCodePoint(a.node, b.node) || a.ageMs - b.ageMs,
  );
  const isStale = ({ ageMs, epoch, partition }: Claim): boolean =>
    ageMs > leaseMs || epoch !== (epochs?.get(partition) ?? epoch);
  const holders = new Map<string, Claim>();
  const twice = new Set<string>();
  const stale: Claim[] = [];
  for (const claim of sorted) {
    const best = holders.get(claim.partition);
    if (isStale(claim)) stale.push(claim);
    else if (best === undefined) holders.set(claim.partition, claim);
    else if (claim.epoch < best.epoch) stale.push(claim);
    else if (claim.node !== best.node) twice.add(claim.partition);
  }
  for (const partition of twice) holders.delete(partition);
  return { holders, claimedTwice: [...twice], stale };
};
