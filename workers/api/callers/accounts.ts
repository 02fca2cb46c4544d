/** What callers have taken of the time of this process's thread: decisions, without a clock. */

/** What one caller has taken, in ms. Each time is one of the same clock. */
export interface Account {
  /**
   * When its next request is due, on a clock that counts what callers took: who has taken less is
   * due earlier. Who took nothing for a while has saved up nothing.
   */
  due: number;
  /** What its refused requests took beyond their share, at `since`. */
  owed: number;
  since: number;
  /** What its next request is expected to take, and to owe. */
  meanMs: number;
  meanOwed: number;
}

/** Refusals of one caller may take this at once, beyond their share, in ms. */
export const BURST_MS = 100;
/** Longest that a request waits for its turn. */
export const HELD_MS = 5_000;
/** Any debt is paid within this, so that a caller whose refusals ended is answered, not refused. */
export const PAYABLE_MS = 4_000;
/**
 * What a request takes besides what is measured of it (headers, the database's answers, writing)
 * where no other program takes the processor. Not what the loop really takes: some of that is
 * caused by streams, or by no request at all.
 */
export const USUAL_MS = 0.5;
/** Part of the latest request in what the next one is expected to take. */
const NEW = 0.2;

export const newAccount = (due: number, since: number): Account => ({
  due,
  owed: 0,
  since,
  meanMs: USUAL_MS,
  meanOwed: 0,
});

/** Returns the most that a caller owes of its refusals; what is above that is forgiven. */
export const mostOwed = (share: number): number => BURST_MS + PAYABLE_MS * share;

/** Returns what is owed at `now`, of which a share of the time that passed is paid. */
export const owedAt = ({ owed, since }: Account, now: number, share: number): number =>
  Math.max(0, Math.min(mostOwed(share), owed) - Math.max(0, now - since) * share);

/**
 * Says whether the next request of this caller may be read, or its refusals have taken too much.
 */
export const mayAsk = (account: Account, now: number, share: number): boolean =>
  owedAt(account, now, share) <= BURST_MS;

/** What was expected of a request when it began. */
export type Expected = Pick<Account, 'meanMs' | 'meanOwed'>;

/** Returns the account once a request began: what it is expected to take is taken already. */
export const begun = (
  account: Account,
  now: number,
  share: number,
  time: number,
  { meanMs, meanOwed }: Expected = account,
): Account => ({
  ...account,
  due: Math.max(account.due, time) + meanMs,
  owed: owedAt(account, now, share) + meanOwed,
  since: now,
});

/** Returns the account once a request ended that took `tookMs`, and owes as much if refused. */
export const ended = (
  account: Account,
  expected: Expected,
  { tookMs, owes, now, share }: { tookMs: number; owes: number; now: number; share: number },
): Account => ({
  due: account.due + tookMs - expected.meanMs,
  owed: Math.max(0, owedAt(account, now, share) + owes - expected.meanOwed),
  since: now,
  meanMs: account.meanMs + NEW * (tookMs - account.meanMs),
  meanOwed: account.meanOwed + NEW * (owes - account.meanOwed),
});

/** Returns whose turn it is: of those that may ask, the one that is due first; null: none may. */
export const nextOf = <T extends Account>(waiting: Iterable<T>, may: (one: T) => boolean): T | null => {
  let next: T | null = null;
  for (const one of waiting) if ((next === null || one.due < next.due) && may(one)) next = one;
  return next;
};
