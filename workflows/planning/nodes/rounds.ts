/**
 * When the balancer looks again by itself: everything else that happens wakes it. Pure;
 * milliseconds.
 */

export interface RoundFacts {
  holder: string | null;
  expired: boolean;
  /** Whether its holder gives signs of life. */
  holderAlive: boolean;
  /** Of the lease. */
  leftMs: number;
  heldMs: number;
  /** Since it was asked back; null: it was not. */
  revokedMs: number | null;
  /** It is kept for a node that restarts; null: it is not. */
  keptLeftMs: number | null;
}

export interface RoundTimes {
  shutdownLimitMs: number;
  minimumHoldMs: number;
  leaseMs: number;
  by: 'count' | 'load';
}

/** Behind an instant that the store's clock is to have passed. */
const LATER_MS = 20;
const LOAD_LOOK_MS = 60_000;
/** Somebody had a lease locked, or it changed since it was read. */
const MISSED_LOOK_MS = 250;

/**
 * Null: not at all. 0: at once, since a round that gives something out asks nothing back of those
 * nodes. `asked`, `given`, `missed`: what the round wrote, and what of its plan it could not write;
 * `facts` are from before it.
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
  if (one.expired) return []; // nobody is able to have it: whoever comes wakes us
  const waits: number[] = [];
  if (one.revokedMs !== null) waits.push(shutdownLimitMs - one.revokedMs);
  // Everybody's lease has passed while the store was away: a lease later it is told who is dead.
  if (!one.holderAlive) waits.push(one.leftMs > 0 ? one.leftMs : leaseMs / 4);
  // It was too young to be moved; perhaps it is to be.
  if (one.heldMs < minimumHoldMs) waits.push(minimumHoldMs - one.heldMs);
  return waits;
};
