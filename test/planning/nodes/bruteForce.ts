import type { NodeFacts, PartitionFacts } from '../../../workflows/planning/nodes/types';

/**
 * What is best, found without the planner's ideas: by counting where all nodes are alike, by trying
 * everything where they are not.
 */

/**
 * Fewest held partitions that must go where every node may have everything: those above the ceiling
 * of the share go, and those that free ones cannot fill below its floor come.
 */
export const fewestMoves = (counts: readonly number[], free: number): number => {
  const all = counts.reduce((sum, each) => sum + each, free);
  const [floor, ceil] = [Math.floor(all / counts.length), Math.ceil(all / counts.length)];
  const above = counts.reduce((sum, each) => sum + Math.max(0, each - ceil), 0);
  const below = counts.reduce((sum, each) => sum + Math.max(0, floor - each), 0);
  return Math.max(above, below - free);
};

export interface Best {
  /** Counts, the largest first, of the most even distribution. */
  counts: number[];
  moves: number;
}

/** Tries every distribution: `nodes ^ partitions` of them. */
export const tryAll = (partitions: readonly PartitionFacts[], nodes: readonly NodeFacts[]): Best => {
  const able = partitions.map(({ handler }) =>
    nodes.flatMap((node, i) => (handler === null || node.handlers.includes(handler) ? [i] : [])),
  );
  const counts = nodes.map(() => 0);
  let best: Best | null = null;
  const visit = (at: number, moves: number): void => {
    if (at === partitions.length) {
      const sorted = [...counts].sort((a, b) => b - a);
      const order = best === null ? -1 : compare(sorted, best.counts);
      if (order < 0 || (order === 0 && moves < best!.moves)) best = { counts: sorted, moves };
      return;
    }
    if (able[at]!.length === 0) return visit(at + 1, moves);
    const { holder, expired } = partitions[at]!;
    const from = holder === null || expired ? -1 : nodes.findIndex(({ id }) => id === holder);
    const isMove = (to: number): boolean => from >= 0 && able[at]!.includes(from) && to !== from;
    for (const to of able[at]!) {
      counts[to]!++;
      visit(at + 1, moves + (isMove(to) ? 1 : 0));
      counts[to]!--;
    }
  };
  visit(0, 0);
  return best!;
};

/** By the fullest, then the next: less is more even. */
const compare = (a: readonly number[], b: readonly number[]): number => {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return 0;
};
