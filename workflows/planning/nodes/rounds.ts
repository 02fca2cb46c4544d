/**
 * Decides when the balancer looks again by itself: everything else that happens wakes it. Pure;
 * milliseconds.
 */

export interface RoundFacts {
  holder: string | null;
  expired: boolean;
  /** Its holder gives signs of life. */
  holderAlive: boolean;
  /** What is left of the lease. */
  leftMs: number;
  heldMs: number;
  /** Time since it was asked back; null: it was not. */
  revokedMs: number | null;
  /** How much longer it is kept for a node that restarts; null: it is not. */
  keptLeftMs: number | null;
}

export interface RoundTimes {
  shutdownLimitMs: number;
  minimumHoldMs: number;
  leaseMs: number;
  by: 'count' | 'load';
}

/** How long after an instant the store's clock has certainly passed it. */
const LATER_MS = 20;
const LOAD_LOOK_MS = 60_000;
/**
 * Wait after a write that failed: another transaction had locked a lease, or it changed since it
 * was read.
 */
const MISSED_LOOK_MS = 250;

/**
 * Returns when the next round is due; null: none is. 0: at once, since a round that gives something
 * out asks nothing back of those nodes. `asked`, `given`, `missed`: what the round wrote, and what
 * of its plan it could not write; `facts` are from before it.
 */
export const nextRoundInMs = (
  facts: readonly RoundFacts[],
  { asked, given, missed }: { asked: number; given: number; missed: number },
  times: RoundTimes,
): number | null => {
  if (given > 0) return 0;
  if (missed > 0) return MISSED_LOOK_MS;
  // Not `Math.min(...)`: a fleet may have more partitions than a call may have arguments.
  let next = Infinity;
  for (const one of facts) for (const ms of waitsOf(one, times)) next = Math.min(next, ms);
  if (asked > 0) next = Math.min(next, times.shutdownLimitMs);
  if (times.by === 'load' && facts.length > 0) next = Math.min(next, LOAD_LOOK_MS);
  return next === Infinity ? null : Math.max(0, next) + LATER_MS;
};

const waitsOf = (one: RoundFacts, { shutdownLimitMs, minimumHoldMs, leaseMs }: RoundTimes): number[] => {
  if (one.holder === null) return one.keptLeftMs !== null && one.keptLeftMs > 0 ? [one.keptLeftMs] : [];
  if (one.expired) return []; // no node is able to have it: a node that joins wakes us
  const waits: number[] = [];
  if (one.revokedMs !== null) waits.push(shutdownLimitMs - one.revokedMs);
  // All leases have passed while the store was unavailable: which nodes are dead shows a lease
  // later.
  if (!one.holderAlive) waits.push(one.leftMs > 0 ? one.leftMs : leaseMs / 4);
  // It was too young to be moved; it may be moved then.
  if (one.heldMs < minimumHoldMs) waits.push(minimumHoldMs - one.heldMs);
  return waits;
};
