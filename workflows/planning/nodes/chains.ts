import type { Plan, Shares } from './plan';
import type { Constraint } from './constraints';

/** A step of a chain: one partition of a constraint goes from one node to another. */
export interface Hop {
  from: number;
  to: number;
  constraint: number;
}

/**
 * Finds chains of nodes along which partitions can move. A search visits at most the able nodes of
 * all constraints, each once.
 */
export class Chains {
  private readonly constraints = new Map<number, Constraint>();
  /**
   * Nodes from which no node with at least two fewer partitions can be reached. That remains true:
   * a node that gives later is no fuller, so that no later search has to enter them (see
   * `evenOut`).
   */
  private readonly closed: Uint8Array;
  /**
   * By node: the number of the search that saw it last, and the node and the constraint through
   * which that search reached it.
   */
  private readonly seen: Int32Array;
  private readonly cameFrom: Int32Array;
  private readonly cameWith: Int32Array;
  private search = 0;

  constructor(
    private readonly plan: Plan,
    private readonly shares: Shares,
  ) {
    const nodes = plan.nodes.length;
    this.closed = new Uint8Array(nodes);
    this.seen = new Int32Array(nodes);
    this.cameFrom = new Int32Array(nodes);
    this.cameWith = new Int32Array(nodes);
    for (const { constraint } of plan.partitions)
      if (constraint.able.length > 1) this.constraints.set(constraint.index, constraint);
  }

  isClosed(node: number): boolean {
    return this.closed[node] === 1;
  }

  /**
   * Returns the chain of fewest moves from `start` to a node with at least two fewer partitions;
   * among equally short chains, the one to the emptiest node. Giving another node a partition that
   * its node in the plan does not really hold costs no move. Null: there is no chain, and every
   * node that the search reached is closed.
   */
  from(start: number): Hop[] | null {
    this.search++;
    const most = this.plan.counts[start]! - 2;
    const done = new Set<number>();
    const reached: number[] = [];
    this.seen[start] = this.search;
    let level = [start];
    while (level.length > 0) {
      const later: Hop[] = [];
      let end = -1;
      for (let i = 0; i < level.length; i++) {
        const node = level[i]!;
        const count = this.plan.counts[node]!;
        if (count <= most && (end < 0 || count < this.plan.counts[end]!)) end = node;
        for (const [constraint, share] of this.shares[node]!) {
          if (share.isEmpty || done.has(constraint)) continue;
          if (share.isLoose) this.open(constraint, node, level, done);
          else later.push({ from: node, to: -1, constraint });
        }
      }
      if (end >= 0) return this.hopsTo(end, start);
      const next: number[] = [];
      for (const { from, constraint } of later) if (!done.has(constraint)) this.open(constraint, from, next, done);
      for (const node of level) reached.push(node);
      level = next;
    }
    for (const node of reached) this.closed[node] = 1;
    return null;
  }

  private open(constraint: number, from: number, level: number[], done: Set<number>): void {
    done.add(constraint);
    for (const node of this.constraints.get(constraint)!.able) {
      if (this.seen[node] === this.search || this.closed[node] === 1) continue;
      this.seen[node] = this.search;
      this.cameFrom[node] = from;
      this.cameWith[node] = constraint;
      level.push(node);
    }
  }

  private hopsTo(end: number, start: number): Hop[] {
    const hops: Hop[] = [];
    for (let to = end; to !== start; to = this.cameFrom[to]!)
      hops.unshift({ from: this.cameFrom[to]!, to, constraint: this.cameWith[to]! });
    return hops;
  }
}
