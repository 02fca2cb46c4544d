/** Nodes and partitions as people look at them. One source: the contracts. */
export type {
  /** One worker process: what it serves, holds and has under way. */
  NodeView,
  /** `revoked`: held, and asked back; `free`: held by no node. */
  PartitionState,
  /** One partition of a handler: who holds it, under which epoch, and who has calls of it. */
  PartitionView,
} from '../../workflows/contracts/node';
