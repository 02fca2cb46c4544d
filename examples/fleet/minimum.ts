import type { Lease } from './watch';

/** Counts of partitions by node. */
export const countsOf = (leases: readonly Pick<Lease, 'holder'>[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { holder } of leases) if (holder !== null) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  return counts;
};

/**
 * The fewest partitions that must change nodes until `members` hold all evenly, from how many each
 * had: the fullest member keeps the larger share, and each gets what it lacks. Counted without the
 * assignor.
 */
export const fewestMoves = (
  counts: ReadonlyMap<string, number>,
  members: readonly string[],
  partitions: number,
): number => {
  const had = members.map((id) => counts.get(id) ?? 0).sort((a, b) => b - a);
  const share = Math.floor(partitions / members.length);
  const larger = partitions % members.length;
  return had.reduce((sum, n, i) => sum + Math.max(0, share + (i < larger ? 1 : 0) - n), 0);
};

/**
 * Says whether these nodes hold all partitions, none is to give any up, and none has two more than
 * another.
 */
export const isSettled = (leases: readonly Lease[], members: readonly string[]): boolean => {
  const counts = countsOf(leases);
  const each = members.map((id) => counts.get(id) ?? 0);
  const all = each.reduce((sum, n) => sum + n, 0) === leases.length && leases.length > 0;
  return all && leases.every(({ revoked }) => !revoked) && Math.max(...each) - Math.min(...each) <= 1;
};
