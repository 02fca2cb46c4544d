import type { Plan, PlannedPartition } from './plan';
import { Heap } from './heap';
import type { Constraint } from './constraints';

interface Entry {
  node: number;
  /**
   * Load and count of the node when this entry was made. They only rise while partitions are
   * placed.
   */
  load: number;
  count: number;
}

/**
 * Gives every unassigned partition to the able node with the least load. Partitions with the fewest
 * able nodes are placed first, and of those the heaviest. No node gets more than `mostEach`
 * partitions while another able node has fewer. A partition that no node is able to have stays
 * unassigned (node -1).
 */
export const placeUnassigned = (plan: Plan, mostEach: number): void => {
  const unassigned = plan.partitions.filter(({ node, constraint }) => node < 0 && constraint.able.length > 0);
  unassigned.sort((a, b) => a.constraint.able.length - b.constraint.able.length || b.weight - a.weight);
  const byConstraint = new Map<Constraint, Heap<Entry>>();
  for (const partition of unassigned) {
    let heap = byConstraint.get(partition.constraint);
    if (heap === undefined) byConstraint.set(partition.constraint, (heap = heapOf(plan, partition.constraint)));
    plan.put(partition, leastLoaded(plan, heap, mostEach) ?? fewest(plan, partition));
  }
};

const heapOf = (plan: Plan, constraint: Constraint): Heap<Entry> => {
  const heap = new Heap<Entry>((a, b) =>
    a.load !== b.load ? a.load < b.load : a.count !== b.count ? a.count < b.count : a.node < b.node,
  );
  for (const node of constraint.able) heap.push({ node, load: plan.loads[node]!, count: plan.counts[node]! });
  return heap;
};

const leastLoaded = ({ loads, counts }: Plan, heap: Heap<Entry>, mostEach: number): number | null => {
  for (let top = heap.top(); top !== undefined; top = heap.top()) {
    const { node } = top;
    if (counts[node]! < mostEach && counts[node] === top.count && loads[node] === top.load) return node;
    heap.pop();
    // A full node is not put back: no partition leaves a node while others are placed.
    if (counts[node]! < mostEach) heap.push({ node, load: loads[node]!, count: counts[node]! });
  }
  return null;
};

const fewest = ({ counts }: Plan, { constraint }: PlannedPartition): number =>
  constraint.able.reduce((best, node) => (counts[node]! < counts[best]! ? node : best));
