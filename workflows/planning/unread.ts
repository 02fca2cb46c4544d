/** Completions that are in the history of a monitor's run and not in the store yet. */
export interface UnreadRun {
  runId: string;
  /** Number of its completions, from the first on, that were taken. */
  taken: number;
  /** Where reading begins, and after how many completions that is; left out: at the beginning. */
  at?: { token: string; after: number };
}

/**
 * Reads the list from the input or answer that carries it. Anyone may start a monitor, with
 * anything: what is not such a list counts as none.
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
