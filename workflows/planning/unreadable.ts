/**
 * Stands for a value from outside that this worker cannot read. Plain data, so that it can be
 * handed on like any other value.
 */
export interface Unreadable {
  musterUnreadable: string;
  /** How its payload says that it is encoded. */
  encoding?: string;
  /** A codec refused it, which may be for want of a key that it asks another server for. */
  byCodec?: true;
}

/** Tells that no converter knows the payload, or that it is garbled. */
export const unreadable = (reason: string, encoding?: string): Unreadable => ({
  musterUnreadable: reason,
  ...(encoding === undefined ? {} : { encoding }),
});

/** Returns the marker if the value is one, else null. */
export const asUnreadable = (value: unknown): Unreadable | null =>
  typeof (value as Partial<Unreadable> | null | undefined)?.musterUnreadable === 'string'
    ? (value as Unreadable)
    : null;

/** Why it cannot be read; null: it can. */
export const whyUnreadable = (value: unknown): string | null => asUnreadable(value)?.musterUnreadable ?? null;
