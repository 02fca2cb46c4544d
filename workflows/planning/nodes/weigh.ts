import type { Plan, PlannedPartition } from './plan';
import { Heap } from './heap';

/**
 * No node is given more than so many times its share of the count: idle partitions wake up some
 * day, and should not all be on one node.
 */
const COUNT_SLACK = 1.5;

/** Returns the most partitions that a node is given by load, however idle they are. */
export const mostEachOf = (partitions: number, nodes: number): number =>
  Math.max(Math.ceil((COUNT_SLACK * partitions) / nodes), Math.ceil(partitions / nodes) + 1);

/**
 * Evens out the loads within the dead band. A node above the band gives, or one that has more than
 * a node below it; a partition goes where it leaves the fuller of the two clearly less full than
 * before, so that a heavy one never goes to and fro. Each goes once per plan, directly, and not
 * before its minimum hold. A good plan, not the best one (which is bin packing).
 */
export const weigh = (plan: Plan, { deadBand, mostEach }: { deadBand: number; mostEach: number }): void => {
  const { loads, nodes } = plan;
  if (nodes.length === 0) return;
  const byNode = nodes.map((): Set<PlannedPartition> => new Set());
  for (const partition of plan.partitions) if (partition.node >= 0) byNode[partition.node]!.add(partition);
  spreadIdle(plan, byNode, mostEach);
  const mean = loads.reduce((sum, load) => sum + load, 0) / nodes.length;
  const band = bandOf(mean, deadBand, mostEach);
  const fullest = new Heap<{ node: number; load: number }>((a, b) =>
    a.load !== b.load ? a.load > b.load : a.node < b.node,
  );
  for (let node = 0; node < nodes.length; node++) fullest.push({ node, load: loads[node]! });
  for (let top = fullest.pop(); top !== undefined; top = fullest.pop()) {
    const { node } = top;
    if (top.load !== loads[node]) continue;
    const transfer = bestTransfer(plan, byNode[node]!, band);
    if (transfer === null) continue;
    if (isAbove(loads[node], node, band)) band.left.add(node);
    if (isBelow(loads[transfer.to]!, transfer.to, band)) band.left.add(transfer.to);
    give(plan, byNode, transfer, 'load');
    for (const changed of [node, transfer.to]) fullest.push({ node: changed, load: loads[changed]! });
  }
};

interface Band {
  mean: number;
  /** A load that is too small to be worth a move, or to show in the sums. */
  nothing: number;
  high: number;
  low: number;
  /**
   * A node that left the band has to come back half of the way before it is left alone: otherwise
   * it would be at the edge, and out again with the next figures.
   */
  innerHigh: number;
  innerLow: number;
  /** Nodes that left the band. */
  left: Set<number>;
  /** What a move must gain. */
  margin: number;
  mostEach: number;
}
interface Transfer {
  partition: PlannedPartition;
  to: number;
  /** Smaller is better: first by what it costs, then by what it leaves. */
  rank: readonly [cost: number, rest: number];
}

const bandOf = (mean: number, deadBand: number, mostEach: number): Band => ({
  mean,
  nothing: mean * 1e-9,
  high: mean * (1 + deadBand),
  low: mean * (1 - deadBand),
  innerHigh: mean * (1 + deadBand / 2),
  innerLow: mean * (1 - deadBand / 2),
  left: new Set(),
  margin: (mean * deadBand) / 2,
  mostEach,
});

const isAbove = (load: number, node: number, { high, innerHigh, left }: Band): boolean =>
  load > (left.has(node) ? innerHigh : high);
const isBelow = (load: number, node: number, { low, innerLow, left }: Band): boolean =>
  load < (left.has(node) ? innerLow : low);

const mayGo = ({ origin, young, step, constraint }: PlannedPartition): boolean =>
  step === null && (origin < 0 || !young) && constraint.able.length > 1;

const bestTransfer = (plan: Plan, partitions: ReadonlySet<PlannedPartition>, band: Band): Transfer | null => {
  const { loads } = plan;
  const takers = new Map<number, number>();
  let best: Transfer | null = null;
  for (const partition of partitions) {
    const { weight, constraint, node } = partition;
    if (weight <= band.nothing || !mayGo(partition)) continue;
    let to = takers.get(constraint.index);
    if (to === undefined) takers.set(constraint.index, (to = leastLoaded(plan, partition, band.mostEach)));
    if (to < 0) continue;
    const [mine, theirs] = [loads[node]!, loads[to]!];
    // A node below the mean gives nothing, one above it gets nothing: otherwise small partitions
    // would wander.
    if (mine <= band.mean || theirs >= band.mean) continue;
    if (!isAbove(mine, node, band) && !isBelow(theirs, to, band)) continue;
    const fuller = Math.max(mine - weight, theirs + weight);
    if (fuller > mine - Math.min(weight, band.margin)) continue;
    // Neither goes beyond the band: the heaviest, so that few go. Otherwise (above 0, so after
    // those) the one that leaves the two most alike.
    const isWithin = mine - weight >= band.low && theirs + weight <= band.high;
    const transfer: Transfer = { partition, to, rank: [partition.origin < 0 ? 0 : 1, isWithin ? -weight : fuller] };
    if (best === null || isBetter(transfer, best)) best = transfer;
  }
  return best;
};

const isBetter = ({ rank, partition }: Transfer, other: Transfer): boolean => {
  for (let i = 0; i < rank.length; i++) if (rank[i] !== other.rank[i]) return rank[i]! < other.rank[i]!;
  return partition.facts.heldMs > other.partition.facts.heldMs;
};

const leastLoaded = (
  { loads, counts }: Plan,
  { constraint, node: own }: PlannedPartition,
  mostEach: number,
): number => {
  let best = -1;
  for (const node of constraint.able)
    if (node !== own && counts[node]! < mostEach && (best < 0 || loads[node]! < loads[best]!)) best = node;
  return best;
};

/** Lets a node that has too many, by count, give its lightest to the one that has the fewest. */
const spreadIdle = (plan: Plan, byNode: readonly Set<PlannedPartition>[], mostEach: number): void => {
  const { counts } = plan;
  for (let node = 0; node < counts.length; node++) {
    if (counts[node]! <= mostEach) continue;
    const lightest = [...byNode[node]!].filter(mayGo);
    lightest.sort(
      (a, b) => Number(a.origin >= 0) - Number(b.origin >= 0) || a.weight - b.weight || b.facts.heldMs - a.facts.heldMs,
    );
    for (const partition of lightest) {
      if (counts[node]! <= mostEach) break;
      const to = partition.constraint.able.reduce((best, one) => (counts[one]! < counts[best]! ? one : best));
      if (counts[to]! + 2 > counts[node]!) continue;
      give(plan, byNode, { partition, to, rank: [0, 0] }, 'uneven');
    }
  }
};

const give = (
  plan: Plan,
  byNode: readonly Set<PlannedPartition>[],
  { partition, to }: Transfer,
  reason: 'load' | 'uneven',
): void => {
  const figures = reason === 'load' ? plan.loads : plan.counts;
  byNode[partition.node]!.delete(partition);
  plan.shift(partition, to, { reason, from: figures[partition.node]!, to: figures[to]!, end: to });
  byNode[to]!.add(partition);
};
