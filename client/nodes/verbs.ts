import type { ClientContext } from '../context';
import { LaneVerbs } from '../lanes/verbs';
import type { PartitionsOptions } from './nodes';
import * as nodes from './nodes';
import { CHANGE, telling } from '../tasks/telling';
import type { NodeView, PartitionView } from './views';

/** What a client can do with nodes and partitions (docs/systems/nodes.md). */
export abstract class NodeVerbs extends LaneVerbs implements ClientContext {
  abstract ring(targetIds: Iterable<number>): Promise<void>;

  /** Worker processes: what each serves, holds and processes (B5). */
  nodes(): Promise<NodeView[]> {
    return nodes.nodes(this);
  }

  /**
   * Who holds each partition, under which epoch, since when and why; who has calls of it under way.
   */
  partitions(options?: PartitionsOptions): Promise<PartitionView[]> {
    return nodes.partitions(this, options);
  }

  /** A node, by id or name, gives up its partitions and gets no others; `undo`: it may again. */
  drainNode(node: string, options?: { undo?: boolean }): Promise<{ nodes: string[]; drained: boolean }> {
    return telling(CHANGE, () => nodes.drainNode(this, node, options));
  }

  /**
   * A partition goes to that node and stays there while it lives; null: wherever the balancer puts
   * it.
   */
  movePartition(partition: string, node: string | null): Promise<{ partition: string; pinnedTo: string | null }> {
    return telling(CHANGE, () => nodes.movePartition(this, partition, node));
  }
}
