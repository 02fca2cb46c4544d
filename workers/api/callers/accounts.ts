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
/** The most that a caller owes, in ms: at a share of 0.02 it is paid after 20 s. */
export const MOST_OWED_MS = 500;
/** Part of the latest request in what the next one is expected to take. */
const NEW = 0.2;

export const newAccount = (due: number, since: number): Account => ({ due, owed: 0, since, meanMs: 0, meanOwed: 0 });

/** Returns what is owed at `now`, of which a share of the time that passed is paid. */
export const owedAt = ({ owed, since }: Account, now: number, share: number): number =>
  Math.max(0, owed - Math.max(0, now - since) * share);

/**
 * Says whether the next request of this caller may be read, or its refusals have taken too much.
 */
export const mayAsk = (account: Account, now: number, share: number): boolean =>
  owedAt(account, now, share) <= BURST_MS;

/** Returns the account once a request began: what it is expected to take is taken already. */
export const begun = (account: Account, now: number, share: number, time: number): Account => ({
  ...account,
  due: Math.max(account.due, time) + account.meanMs,
  owed: Math.min(MOST_OWED_MS, owedAt(account, now, share) + account.meanOwed),
  since: now,
});

/** What was expected of a request when it began. */
export type Expected = Pick<Account, 'meanMs' | 'meanOwed'>;

/** Returns the account once a request ended that took `tookMs`. */
export const ended = (
  account: Account,
  expected: Expected,
  { tookMs, isRefused, now, share }: { tookMs: number; isRefused: boolean; now: number; share: number },
): Account => {
  const owes = isRefused ? tookMs : 0;
  return {
    due: account.due + tookMs - expected.meanMs,
    owed: Math.min(MOST_OWED_MS, Math.max(0, owedAt(account, now, share) + owes - expected.meanOwed)),
    since: now,
    meanMs: account.meanMs + NEW * (tookMs - account.meanMs),
    meanOwed: account.meanOwed + NEW * (owes - account.meanOwed),
  };
};

/** Returns whose turn it is: of those that may ask, the one that is due first; null: none may. */
export const nextOf = <T extends Account>(waiting: Iterable<T>, now: number, share: number): T | null => {
  let next: T | null = null;
  for (const one of waiting) if ((next === null || one.due < next.due) && mayAsk(one, now, share)) next = one;
  return next;
};
