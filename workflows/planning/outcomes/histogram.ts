/** Returns the bucket of a value: the first whose upper bound it does not exceed, else one more. */
export const bucketOf = (bounds: readonly number[], value: number): number => {
  const bucket = bounds.findIndex((bound) => value <= bound);
  return bucket < 0 ? bounds.length : bucket;
};

/**
 * Returns the value that a share of all does not exceed, interpolated within its bucket; above the
 * last bound it is that bound. Null: there are no values.
 */
export const quantile = (bounds: readonly number[], counts: readonly number[], share: number): number | null => {
  const total = counts.reduce((sum, n) => sum + n, 0);
  if (total === 0) return null;
  const rank = share * total;
  let below = 0;
  for (const [bucket, bound] of bounds.entries()) {
    const n = counts[bucket] ?? 0;
    if (n > 0 && below + n >= rank) {
      const from = bucket === 0 ? 0 : bounds[bucket - 1]!;
      return from + (bound - from) * Math.max(0, (rank - below) / n);
    }
    below += n;
  }
  return bounds.at(-1)!;
};

/** Adds lists of counts, the shorter ones as if they ended with zeros. */
export const addCounts = (a: readonly number[], b: readonly number[]): number[] =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, i) => (a[i] ?? 0) + (b[i] ?? 0));
