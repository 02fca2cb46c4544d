/** Nodes and partitions as people look at them. One source: the contracts. */
export type { NodeView, PartitionState, PartitionView } from '../../workflows/contracts/node';
