import { partitionName } from '../../../../postgres/nodes/partition';
import type { Change } from '../lanes/simulatedLanes';
import type { Tables } from '../tables';
import type { Balancer } from './balancer';
import type { NodeRow } from './nodeTables';
import { newNode } from './nodeTables';

/** A node as it is now. */
export interface SimulatedNode {
  id: string;
  state: 'live' | 'draining' | 'killed';
  /** The partitions that it holds, by name. */
  partitions: string[];
}

/**
 * The nodes of a simulated world, over which the partitions of a handler with affinity are spread.
 * Each verb resolves when what it made due has been called.
 */
export class SimulatedNodes {
  /** @internal */
  constructor(
    private readonly tables: Tables,
    private readonly balancer: Balancer,
    private readonly change: Change,
  ) {}

  /** Returns all nodes as they are now, in the order in which they joined. */
  list(): SimulatedNode[] {
    const { nodes } = this.tables;
    return [...nodes.nodes.values()].map((node) => ({
      id: node.id,
      state: stateOf(node),
      partitions: nodes.heldBy(node.id).map(({ id }) => partitionName(id)),
    }));
  }

  /**
   * Returns the node that serves a target (of a handler that keeps order: a service); null: none
   * does now.
   */
  of(key: string): string | null {
    const { nodes, nowMs } = this.tables;
    return nodes.isOff ? null : (nodes.servingOf(nodes.partitionOf(key), nowMs)?.node ?? null);
  }

  /** A node joins, and gets its share of the partitions that ask for no other attributes. */
  join(id: string, attributes: Readonly<Record<string, string>> = {}): Promise<void> {
    return this.changed(() => {
      if (this.tables.nodes.nodes.has(id))
        throw new Error(`Cannot join a node: expected an id that no node has, got "${id}". Choose another one.`);
      this.tables.nodes.nodes.set(id, newNode(id, attributes, this.tables.nowMs));
    });
  }

  /** A node stops cleanly: the others get its partitions at once. */
  leave(id: string): Promise<void> {
    return this.changed(() => {
      const { nodes, nowMs } = this.tables;
      this.node(id);
      for (const lease of nodes.heldBy(id)) nodes.release(lease, nowMs);
      nodes.nodes.delete(id);
    });
  }

  /** A node dies: the others get its partitions when their leases have passed. */
  kill(id: string): Promise<void> {
    return this.changed(() => {
      const { nodes, nowMs } = this.tables;
      const node = this.node(id);
      for (const lease of nodes.heldBy(id)) lease.expiresAtMs = nowMs + nodes.leftMs(lease.id, nowMs);
      node.killedAtMs ??= nowMs;
    });
  }

  /** A node gives up its partitions and gets no others, until `undo`. */
  drain(id: string, { undo = false }: { undo?: boolean } = {}): Promise<void> {
    return this.changed(() => {
      this.node(id).drained = !undo;
    });
  }

  private node(id: string): NodeRow {
    const node = this.tables.nodes.nodes.get(id);
    if (node !== undefined) return node;
    const known = [...this.tables.nodes.nodes.keys()].join(', ');
    throw new Error(`Cannot find the node: expected one of ${known}, got "${id}".`);
  }

  private changed(change: () => void): Promise<void> {
    return this.change(async () => {
      change();
      this.balancer.wake();
    });
  }
}

const stateOf = ({ killedAtMs, drained }: NodeRow): SimulatedNode['state'] =>
  killedAtMs !== null ? 'killed' : drained ? 'draining' : 'live';
