import type { Plan, PlannedPartition } from './plan';
import { Heap } from './heap';

/**
 * No node is given more than this many times its share of the count: idle partitions may become
 * busy some day, and should not all be on one node then.
 */
const COUNT_SLACK = 1.5;

/**
 * Most steps of a partition in one plan: a later step of a heavier one may make the first step
 * pointless, and the second takes it back or leads elsewhere. It still moves once, directly.
 */
const MOST_STEPS = 2;

/** Returns the most partitions that a node is given by weight, however idle they are. */
export const mostEachOf = (partitions: number, nodes: number): number =>
  Math.max(Math.ceil((COUNT_SLACK * partitions) / nodes), Math.ceil(partitions / nodes) + 1);

/**
 * Evens out the loads within the dead band. Partitions go from a node above the band, or to a node
 * below it. A partition goes only where that leaves the fuller of the two nodes clearly less full
 * than before, so that a heavy partition never goes to and fro. Each partition goes at most once
 * per plan, directly, and not before its minimum hold. The plan is good but not optimal, since the
 * optimum is bin packing.
 */
export const weigh = (plan: Plan, { deadBand, mostEach }: { deadBand: number; mostEach: number }): void => {
  const { loads, nodes } = plan;
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
  /** A load that is too small to be worth a move, or to change the sums. */
  nothing: number;
  high: number;
  low: number;
  /**
   * A node that was outside of the band has to come within half of it before it is left alone.
   * Otherwise it would be at the edge, and outside again with the next figures.
   */
  innerHigh: number;
  innerLow: number;
  /** Nodes that were outside of the band. */
  left: Set<number>;
  /** The least that a move must gain. */
  margin: number;
  mostEach: number;
}
interface Transfer {
  partition: PlannedPartition;
  to: number;
  /** The smaller one is better, compared first by the cost of the move, then by the rest. */
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

const mayGo = ({ origin, begun, young, steps, constraint }: PlannedPartition): boolean =>
  steps < MOST_STEPS && !begun && (origin < 0 || !young) && constraint.able.length > 1;

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
    // A node below the mean gives nothing, and a node above it gets nothing: otherwise small
    // partitions would wander.
    if (mine <= band.mean || theirs >= band.mean) continue;
    if (!isAbove(mine, node, band) && !isBelow(theirs, to, band)) continue;
    const fuller = Math.max(mine - weight, theirs + weight);
    if (fuller > mine - Math.min(weight, band.margin)) continue;
    // If neither node crosses the band, the heaviest partition is best, so that few go. All others
    // rank after those (above 0), the one that leaves the fuller node least full first.
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

/**
 * Lets each node with too many partitions, by count, give its lightest ones to the able nodes with
 * the fewest.
 */
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
  const taker = { to: figures[to]!, end: to };
  byNode[partition.node]!.delete(partition);
  plan.shift(partition, to, { reason, from: figures[partition.node]!, ...taker });
  // After a second step, what is explained is where it goes in the end.
  partition.step = { ...partition.step!, ...taker };
  byNode[to]!.add(partition);
};
