import type { NodeRow } from '../../../postgres/nodes/node';
import type { PoolOptions } from '../../../postgres/pool';

/** The messages between a process's main thread and its heartbeat thread. */

export interface HeldChunk {
  id: string;
  nodeId: string;
  epoch: number;
}

export interface Hold {
  chunk: HeldChunk;
  /** Length of the lease, which is renewed at a third of it. */
  leaseMs: number;
  /** Longest that one item may take. */
  itemMs: number;
}

export interface Beat {
  row: NodeRow;
  everyMs: number;
  /** It gives signs of life while the main thread was silent for no longer than this. */
  silenceMs: number;
}

/** How the node's partitions are kept. */
export interface PartitionTerms {
  /** Length of the lease, which is renewed at a third of it. */
  leaseMs: number;
  /** Renewed while the main thread was silent for no longer than this. */
  maxLeaseMs: number;
}

/** A partition that the node holds: until when for certain, by `nowNs`. */
export interface SeenPartition {
  id: string;
  epoch: number;
  revoked: boolean;
  untilNs: bigint;
}

export type ToThread =
  | { kind: 'partitions'; terms: PartitionTerms }
  | { kind: 'beat'; beat: Beat }
  | { kind: 'hold'; key: number; hold: Hold; memory: SharedArrayBuffer }
  | { kind: 'drop'; key: number }
  | { kind: 'stop' };

export type FromThread =
  /** The chunk was closed, or taken from this node: running items may be interrupted. */
  | { kind: 'lost'; key: number }
  /** All partitions that it holds now. */
  | { kind: 'partitions'; seen: SeenPartition[]; atNs: bigint }
  /** Another node that holds partitions has given no sign of life for a lease. */
  | { kind: 'silent-node' }
  /** This node gave none for a lease, and does again: it may have partitions. */
  | { kind: 'back' }
  /**
   * This node, or its main thread, was silent for too long to answer a roll call, and is not now.
   */
  | { kind: 'answers' }
  /** The sign of life, or the renewal of a chunk, failed, and will be tried again. */
  | { kind: 'failed'; what: string; message: string };

export interface ThreadData {
  pool: PoolOptions;
  signOfLife: SharedArrayBuffer;
}
