/** Nodes and partitions as operators see them. They are defined in workflows/contracts. */
export type {
  /** One worker process: what it serves, what it holds, and its calls in progress. */
  NodeView,
  /**
   * State of a partition. `revoked`: its holder was asked to give it up; `free`: no node holds it.
   */
  PartitionState,
  /**
   * One partition of a handler: which node holds it, under which epoch, and which nodes have calls
   * for it.
   */
  PartitionView,
} from '../../workflows/contracts/node';
