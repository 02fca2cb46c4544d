import type { Plan, PlannedPartition } from './plan';

/**
 * Evens out each handler's partitions among the nodes as well, without more moves and without
 * changing a node's count. As long as it makes the distribution more even, a partition that the
 * plan takes from a node stays there, and a partition of another handler goes to the same node in
 * its place. The choice is arbitrary otherwise, so one node could end up with all partitions of one
 * handler, and another node with all of another's.
 */
export const evenOutEach = (plan: Plan): void => {
  const tally = new Tally(plan);
  if (tally.handlers.length < 2) return;
  // The newest come first: they stay.
  const leaving = plan.partitions.filter(mayStay).sort((a, b) => a.facts.heldMs - b.facts.heldMs);
  for (let changed = true; changed;) {
    changed = false;
    for (const [at, partition] of leaving.entries()) {
      const other = tally.betterThan(partition);
      if (other === null) continue;
      tally.exchange(partition, other);
      leaving[at] = other;
      changed = true;
    }
  }
};

/** Says whether the partition leaves its holder for evenness alone, so that it may stay instead. */
const mayStay = ({ origin, node, step, leaves }: PlannedPartition): boolean =>
  step !== null && leaves === null && origin >= 0 && node !== origin;

/**
 * Counts the partitions of each handler on each node, and knows which of them may go in place of
 * another.
 */
class Tally {
  readonly handlers: (string | null)[];
  private readonly counts: Map<string | null, number>[];
  /** By node and handler: partitions that stay but may go, the one held longest last. */
  private readonly staying: Map<string | null, PlannedPartition[]>[];

  constructor(private readonly plan: Plan) {
    this.counts = plan.nodes.map(() => new Map<string | null, number>());
    this.staying = plan.nodes.map(() => new Map<string | null, PlannedPartition[]>());
    for (const partition of plan.partitions) {
      if (partition.node < 0) continue;
      this.add(partition.node, partition.facts.handler, 1);
      if (partition.node === partition.origin && !partition.young && partition.constraint.able.length > 1)
        this.keep(partition);
    }
    for (const byHandler of this.staying)
      for (const partitions of byHandler.values()) partitions.sort((a, b) => a.facts.heldMs - b.facts.heldMs);
    this.handlers = [...new Set(plan.partitions.map(({ facts }) => facts.handler))];
  }

  /**
   * Returns the partition that should go in place of this one: of the handler whose count on the
   * holder exceeds its count on the other node the most. Null: no exchange makes the nodes more
   * even.
   */
  betterThan({ origin, node, facts: { handler } }: PlannedPartition): PlannedPartition | null {
    const own = this.of(node, handler) - this.of(origin, handler);
    let best: PlannedPartition | null = null;
    // An exchange lowers each handler's difference by 2, which makes the nodes more even only if
    // the two differences together exceed 2.
    let most = 2 - own;
    for (const other of this.handlers) {
      const difference = this.of(origin, other) - this.of(node, other);
      if (difference <= most) continue; // as for its own handler, whose difference is -own
      const partition = this.staying[origin]!.get(other)?.findLast(({ constraint }) => constraint.allows(node));
      if (partition === undefined) continue;
      best = partition;
      most = difference;
    }
    return best;
  }

  /**
   * Exchanges two partitions: `partition` stays where it was, and `other` goes from there in its
   * place.
   */
  exchange(partition: PlannedPartition, other: PlannedPartition): void {
    const { origin, node, step } = partition;
    for (const [one, from, to] of [
      [partition, node, origin],
      [other, origin, node],
    ] as const) {
      this.add(from, one.facts.handler, -1);
      this.add(to, one.facts.handler, 1);
      this.plan.loads[from]! -= one.weight;
      this.plan.loads[to]! += one.weight;
      one.node = to;
    }
    const others = this.staying[origin]!.get(other.facts.handler)!;
    others.splice(others.lastIndexOf(other), 1);
    if (!partition.young) this.keep(partition);
    other.step = step;
    partition.step = null;
  }

  private keep(partition: PlannedPartition): void {
    const byHandler = this.staying[partition.origin]!;
    const partitions = byHandler.get(partition.facts.handler);
    if (partitions === undefined) byHandler.set(partition.facts.handler, [partition]);
    else partitions.push(partition);
  }

  private of(node: number, handler: string | null): number {
    return this.counts[node]!.get(handler) ?? 0;
  }

  private add(node: number, handler: string | null, n: number): void {
    this.counts[node]!.set(handler, this.of(node, handler) + n);
  }
}
