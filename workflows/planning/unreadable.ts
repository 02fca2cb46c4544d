/**
 * A marker for a value from outside that this worker cannot read. Plain data, so that it can be
 * passed on like any other value.
 */
export interface Unreadable {
  musterUnreadable: string;
  /** The encoding that its payload names. */
  encoding?: string;
  /** A codec refused it, perhaps for lack of a key that it requests from another server. */
  byCodec?: true;
}

/** Returns a marker that says that no converter knows the payload, or that it is garbled. */
export const unreadable = (reason: string, encoding?: string): Unreadable => ({
  musterUnreadable: reason,
  ...(encoding === undefined ? {} : { encoding }),
});

/** Returns the marker if the value is one, else null. */
export const asUnreadable = (value: unknown): Unreadable | null =>
  typeof (value as Partial<Unreadable> | null | undefined)?.musterUnreadable === 'string'
    ? (value as Unreadable)
    : null;

/** Returns why it cannot be read; null: it can. */
export const whyUnreadable = (value: unknown): string | null => asUnreadable(value)?.musterUnreadable ?? null;
