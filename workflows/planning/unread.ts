/** Completions that are in the history of a monitor's run but not yet in the store. */
export interface UnreadRun {
  runId: string;
  /** How many of the run's completions are stored already, counted from the first. */
  taken: number;
  /**
   * The page of the history at which reading continues, and how many completions come before it.
   * Left out: reading starts at the beginning.
   */
  at?: { token: string; after: number };
}

/**
 * Reads the list from the workflow input or activity result that carries it. A monitor may be
 * started by anyone and with any input, so anything but a list of this form counts as an empty one.
 */
export const unreadOf = (carrier: unknown): UnreadRun[] => {
  const list: unknown = (carrier as { unread?: unknown } | null | undefined)?.unread;
  return Array.isArray(list) ? list.filter(isUnreadRun) : [];
};

const isUnreadRun = (one: unknown): one is UnreadRun => {
  const { runId, taken, at } = (one ?? {}) as Partial<Record<keyof UnreadRun, unknown>>;
  return typeof runId === 'string' && isCount(taken) && (at == null || isPage(at));
};

const isPage = (at: unknown): boolean => {
  const { token, after } = at as Partial<Record<'token' | 'after', unknown>>;
  return typeof token === 'string' && isCount(after);
};

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
