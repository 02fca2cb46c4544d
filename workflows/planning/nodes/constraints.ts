import { byCodePoint } from './order';
import type { Node } from './fleet';
import { isAble } from './fleet';
import type { PartitionFacts } from './types';

/**
 * The open nodes that may have a partition. Partitions with the same nodes share one constraint.
 */
export interface Constraint {
  index: number;
  /** Indexes of open nodes, ascending. */
  able: readonly number[];
  allows: (node: number) => boolean;
}

/**
 * Finds the constraint of a partition. Nodes are compared once per set of attributes and handler,
 * not once per partition.
 */
export class Constraints {
  private readonly byKey = new Map<string, Constraint>();
  private readonly byNodes = new Map<string, Constraint>();

  constructor(private readonly open: readonly Node[]) {}

  get count(): number {
    return this.byNodes.size;
  }

  of(partition: Pick<PartitionFacts, 'attributes' | 'handler'>): Constraint {
    const key = keyOf(partition);
    let constraint = this.byKey.get(key);
    if (constraint !== undefined) return constraint;
    constraint = this.among(this.open.filter(({ process }) => isAble(process, partition)).map(({ index }) => index));
    this.byKey.set(key, constraint);
    return constraint;
  }

  /** Returns the constraint of a partition that is pinned to this node. */
  only(node: number): Constraint {
    return this.among([node]);
  }

  private among(able: number[]): Constraint {
    const key = able.length === this.open.length ? 'all' : able.join();
    const known = this.byNodes.get(key);
    if (known !== undefined) return known;
    const nodes = new Set(able);
    const constraint = { index: this.byNodes.size, able, allows: (node: number) => nodes.has(node) };
    this.byNodes.set(key, constraint);
    return constraint;
  }
}

const keyOf = ({ attributes, handler }: Pick<PartitionFacts, 'attributes' | 'handler'>): string => {
  const names = Object.keys(attributes);
  if (names.length === 0) return JSON.stringify(handler);
  return JSON.stringify([handler, ...names.sort(byCodePoint).map((name) => [name, attributes[name]])]);
};
