/** Stands for a value from outside that this worker cannot read. Plain data, so that it can be handed on like any other value. */
export interface Unreadable {
  musterUnreadable: string;
}

export const unreadable = (reason: string): Unreadable => ({ musterUnreadable: reason });

/** Why it cannot be read; null: it can. */
export const whyUnreadable = (value: unknown): string | null => {
  const reason = (value as Partial<Unreadable> | null | undefined)?.musterUnreadable;
  return typeof reason === 'string' ? reason : null;
};
