/** Nodes and partitions as operators see them. One source: the contracts. */
export type { NodeView, PartitionState, PartitionView } from '../../workflows/contracts/node';
