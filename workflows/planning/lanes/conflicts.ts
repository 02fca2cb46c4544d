import type { QueuedBatch } from './types';

type Sets = Pick<QueuedBatch, 'reads' | 'writes'>;

/**
 * Says whether a batch declared no sets. That does not mean that it touches nothing: such a batch
 * is treated as if it wrote everything.
 */
export const isUndeclared = ({ reads, writes }: Sets): boolean => reads.length === 0 && writes.length === 0;

/**
 * Returns why two batches must not be pending at once: a state key that one of them writes and the
 * other reads or writes; `'*'` if one of them declared no sets. Null: they do not conflict. Two
 * batches that only read the same key do not conflict.
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
