import type { Plan, PlannedPartition, Shares } from './plan';
import { Share } from './plan';
import type { Hop } from './chains';
import { Chains } from './chains';
import { Heap } from './heap';

interface Entry {
  node: number;
  count: number;
  isReady: boolean;
}

/**
 * Evens out the counts. While some node has at least two partitions more than a node that it can
 * give to, directly or through a chain of nodes that each take one and give one, the fullest such
 * node gives one along the shortest such chain. When no such chain is left, no other distribution
 * is more even (an optimal semi-matching). If all nodes are able to have everything, the moves are
 * the fewest possible: each takes a partition from the fullest node and gives it to the emptiest.
 * With attributes, each chain is the shortest, but their sum need not be the smallest.
 */
export const evenOut = (plan: Plan): void => {
  const shares = sharesOf(plan);
  const chains = new Chains(plan, shares);
  const fullest = new Heap<Entry>(isFuller);
  const emptiest = new Heap<Entry>(isEmptier);
  const look = (node: number): void => {
    const entry = { node, count: plan.counts[node]!, isReady: plan.ready[node]! > 0 };
    fullest.push(entry);
    emptiest.push(entry);
  };
  for (let node = 0; node < plan.nodes.length; node++) look(node);
  for (let top = fullest.pop(); top !== undefined; top = fullest.pop()) {
    const { node } = top;
    if (top.count !== plan.counts[node] || chains.isClosed(node)) continue;
    const chain = direct(plan, shares[node]!, node, emptiest) ?? chains.from(node);
    if (chain === null) continue; // the node is closed, with all that it can reach
    give(plan, shares, chain);
    look(node);
    look(chain.at(-1)!.to);
  }
};

const isFuller = (a: Entry, b: Entry): boolean => {
  if (a.count !== b.count) return a.count > b.count;
  // Of two equally full nodes, the one that may give now comes first.
  return a.isReady !== b.isReady ? a.isReady : a.node < b.node;
};

const isEmptier = (a: Entry, b: Entry): boolean => (a.count !== b.count ? a.count < b.count : a.node < b.node);

/**
 * Finds without a search what a search would find, if all partitions of the node have one
 * constraint and every node may have them. Null: a search is needed, or would find nothing.
 */
const direct = (
  { counts, nodes }: Plan,
  shares: ReadonlyMap<number, Share>,
  from: number,
  emptiest: Heap<Entry>,
): Hop[] | null => {
  const some = [...shares].filter(([, share]) => !share.isEmpty);
  const [constraint, share] = some[0] ?? [];
  if (constraint === undefined || some.length > 1 || share!.constraint.able.length < nodes.length) return null;
  let top = emptiest.top();
  while (top !== undefined && top.count !== counts[top.node]) {
    emptiest.pop();
    top = emptiest.top();
  }
  return top === undefined || top.count + 2 > counts[from]! ? null : [{ from, to: top.node, constraint }];
};

const sharesOf = (plan: Plan): Shares => {
  const shares = plan.nodes.map(() => new Map<number, Share>());
  for (const partition of plan.partitions)
    if (partition.node >= 0 && partition.constraint.able.length > 1)
      shareOf(shares, partition.node, partition).add(partition);
  return shares;
};

const shareOf = (shares: Shares, node: number, { constraint }: PlannedPartition): Share => {
  const known = shares[node]!.get(constraint.index);
  if (known !== undefined) return known;
  const share = new Share(constraint);
  shares[node]!.set(constraint.index, share);
  return share;
};

const give = (plan: Plan, shares: Shares, chain: readonly Hop[]): void => {
  const last = chain.at(-1)!.to;
  const figures = {
    reason: 'uneven',
    from: plan.counts[chain[0]!.from]!,
    to: plan.counts[last]!,
    end: last,
  } as const;
  for (const { from, to, constraint } of chain) {
    const partition = shares[from]!.get(constraint)!.take();
    plan.shift(partition, to, figures);
    shareOf(shares, to, partition).add(partition);
  }
};
