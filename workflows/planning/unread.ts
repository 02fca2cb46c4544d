/** Completions that stand in the history of a run of a monitor and are not in the store yet. */
export interface UnreadRun {
  runId: string;
  /** So many of its completions, the first ones, were taken. */
  taken: number;
  /** Where reading begins, behind how many of them; left out: at the beginning. */
  at?: { token: string; after: number };
}

/**
 * Reads the list from the input or the answer that carries it. Anybody may start a monitor, with
 * anything: what is no such list is none.
 */
export const unreadOf = (carrier: unknown): UnreadRun[] => {
  const list: unknown = (carrier as { unread?: unknown } | null | undefined)?.unread;
  return Array.isArray(list) ? list.filter(isUnreadRun) : [];
};

const isUnreadRun = (one: unknown): one is UnreadRun => {
  const { runId, taken, at } = (one ?? {}) as Partial<Record<keyof UnreadRun, unknown>>;
  const { token, after } = (at ?? { token: '', after: 0 }) as Partial<Record<'token' | 'after', unknown>>;
  return typeof runId === 'string' && isCount(taken) && typeof token === 'string' && isCount(after);
};

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
