import type { ClientContext } from '../context';
import { LaneVerbs } from '../lanes/verbs';
import type { PartitionsOptions } from './nodes';
import * as nodes from './nodes';
import { CHANGE, telling } from '../tasks/telling';
import type { NodeView, PartitionView } from './views';

/** A client's verbs for nodes and partitions (docs/systems/nodes.md). */
export abstract class NodeVerbs extends LaneVerbs implements ClientContext {
  abstract ring(targetIds: Iterable<number>): Promise<void>;

  /** Returns the worker processes: what each serves, holds and processes. */
  nodes(): Promise<NodeView[]> {
    return nodes.nodes(this);
  }

  /**
   * Returns which node holds each partition, under which epoch, since when and why, and which nodes
   * have calls of it in progress.
   */
  partitions(options?: PartitionsOptions): Promise<PartitionView[]> {
    return nodes.partitions(this, options);
  }

  /**
   * Drains a node, by id or name: it gives up its partitions and gets no others; `undo` makes it
   * eligible again.
   */
  drainNode(node: string, options?: { undo?: boolean }): Promise<{ nodes: string[]; drained: boolean }> {
    return telling(CHANGE, () => nodes.drainNode(this, node, options));
  }

  /** Pins a partition to that node, where it stays while the node lives; null removes the pin. */
  movePartition(partition: string, node: string | null): Promise<{ partition: string; pinnedTo: string | null }> {
    return telling(CHANGE, () => nodes.movePartition(this, partition, node));
  }
}
