/**
 * Decides when the balancer looks again by itself: every other event wakes it. Pure. All times are
 * in milliseconds.
 */

export interface RoundFacts {
  holder: string | null;
  expired: boolean;
  /** Its holder sends heartbeats. */
  holderAlive: boolean;
  /** Time until the lease ends; negative: since it ended. */
  leftMs: number;
  heldMs: number;
  /** Time since the holder was asked to give it up; null: the holder was not asked. */
  revokedMs: number | null;
  /** How much longer it is kept for a node that restarts; null: it is not kept. */
  keptLeftMs: number | null;
}

export interface RoundTimes {
  shutdownLimitMs: number;
  minimumHoldMs: number;
  leaseMs: number;
  by: 'count' | 'load';
}

/** Added to each wait, so that the store's clock has certainly passed the due time. */
const LATER_MS = 20;
const LOAD_LOOK_MS = 60_000;
/**
 * Wait after a failed write: another transaction had locked a lease, or had changed it since it was
 * read.
 */
const MISSED_LOOK_MS = 250;

/**
 * Returns in how many milliseconds the next round is due; null: no round is due. 0 after a round
 * that assigned partitions, since it could not revoke any from or for the same nodes. The round
 * before wrote `asked` revokes and `given` assignments, and failed to write `missed` of its plan;
 * `facts` were read before it.
 */
export const nextRoundInMs = (
  facts: readonly RoundFacts[],
  { asked, given, missed }: { asked: number; given: number; missed: number },
  times: RoundTimes,
): number | null => {
  if (given > 0) return 0;
  if (missed > 0) return MISSED_LOOK_MS;
  // Not `Math.min(...)`: a fleet may have more partitions than a function may have arguments.
  let next = Infinity;
  for (const one of facts) for (const ms of waitsOf(one, times)) next = Math.min(next, ms);
  if (asked > 0) next = Math.min(next, times.shutdownLimitMs);
  if (times.by === 'load' && facts.length > 0) next = Math.min(next, LOAD_LOOK_MS);
  return next === Infinity ? null : Math.max(0, next) + LATER_MS;
};

const waitsOf = (one: RoundFacts, { shutdownLimitMs, minimumHoldMs, leaseMs }: RoundTimes): number[] => {
  if (one.holder === null) return one.keptLeftMs !== null && one.keptLeftMs > 0 ? [one.keptLeftMs] : [];
  if (one.expired) return []; // no node is able to have it: a node that joins wakes the balancer
  const waits: number[] = [];
  if (one.revokedMs !== null) waits.push(shutdownLimitMs - one.revokedMs);
  // A lease that ended while the store was down does not count as expired yet, since no node could
  // renew: look again soon. Which nodes are dead is known one lease after the store's start.
  if (!one.holderAlive) waits.push(one.leftMs > 0 ? one.leftMs : leaseMs / 4);
  // The partition is too young to be moved: it may be moved after the minimum hold.
  if (one.heldMs < minimumHoldMs) waits.push(minimumHoldMs - one.heldMs);
  return waits;
};
