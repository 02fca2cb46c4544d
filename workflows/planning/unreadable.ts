/**
 * Stands in for a value from outside that this worker cannot read. It is plain data, so that it can
 * be passed on like any other value.
 */
export interface Unreadable {
  musterUnreadable: string;
  /** The encoding that the value's payload names. */
  encoding?: string;
  /** A codec refused the payload, perhaps because it could not get the key from another server. */
  byCodec?: true;
}

/** Returns a marker with the reason: no converter knows the payload, or it is garbled. */
export const unreadable = (reason: string, encoding?: string): Unreadable => ({
  musterUnreadable: reason,
  ...(encoding === undefined ? {} : { encoding }),
});

/** Returns the marker if the value is one, else null. */
export const asUnreadable = (value: unknown): Unreadable | null =>
  typeof (value as Partial<Unreadable> | null | undefined)?.musterUnreadable === 'string'
    ? (value as Unreadable)
    : null;

/** Returns why the value cannot be read; null: it can be read. */
export const whyUnreadable = (value: unknown): string | null => asUnreadable(value)?.musterUnreadable ?? null;
