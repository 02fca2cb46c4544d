import type { QueuedBatch } from './types';

type Sets = Pick<QueuedBatch, 'reads' | 'writes'>;

/**
 * Keys of one batch, reads and writes together (C25): more says that the batch should be split, or
 * its keys be coarser.
 */
export const SET_KEYS_MAX = 1_000;
/** Bytes of one key in UTF-8: the pending sets are stored and compared. */
export const SET_KEY_BYTES_MAX = 512;

/**
 * Nothing declared is not "touches nothing": such a batch is compared as if it wrote everything.
 */
export const isUndeclared = ({ reads, writes }: Sets): boolean => reads.length === 0 && writes.length === 0;

/**
 * Why two batches must not be pending at once (C25): the first state key that one writes and the
 * other reads or writes; `'*'` when one of them declared nothing. Null: they do not conflict. Both
 * reading one key is no conflict.
 */
export const conflictOn = (one: Sets, other: Sets): string | null => {
  if (isUndeclared(one) || isUndeclared(other)) return '*';
  const writes = new Set(one.writes);
  const both = other.writes.find((key) => writes.has(key)) ?? other.reads.find((key) => writes.has(key));
  if (both !== undefined) return both;
  if (other.writes.length === 0) return null;
  const reads = new Set(one.reads);
  return other.writes.find((key) => reads.has(key)) ?? null;
};

/**
 * @throws Error naming the set and its limit: for what a caller or a handler's `reads` and `writes`
 * gave.
 */
export const checkSets = ({ reads, writes }: Sets): void => {
  const keys = reads.length + writes.length;
  if (keys > SET_KEYS_MAX)
    throw new Error(
      `reads, writes: expected at most ${SET_KEYS_MAX} keys together, got ${keys}; split the batch or use coarser keys`,
    );
  for (const [name, set] of Object.entries({ reads, writes }))
    for (const key of set) {
      const bytes = bytesOf(key);
      if (bytes === 0 || bytes > SET_KEY_BYTES_MAX)
        throw new Error(
          `${name}: expected keys of 1 to ${SET_KEY_BYTES_MAX} bytes, got one of ${bytes}: "${key.slice(0, 60)}"`,
        );
    }
};

/** Length in UTF-8, without TextEncoder, which the workflow sandbox does not have to have. */
const bytesOf = (text: string): number => {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0)!;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
};
