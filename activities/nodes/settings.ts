/**
 * An operator's settings of the nodes and of how partitions are spread over them; the same on all
 * nodes. Times in milliseconds.
 */
export interface NodeSettings {
  /**
   * The node's name, the same after a restart, one process each: a node that stops cleanly keeps
   * its partitions for `restartGraceMs`. Null: it has none.
   */
  name: string | null;
  attributes: Readonly<Record<string, string>>;
  /** Length of a partition's lease, renewed at a third of it. */
  leaseMs: number;
  /** How long the main thread may be silent before its partitions are left to pass. */
  maxLeaseMs: number;
  /**
   * How long a node may take, from a revocation on, to end its calls; then another node gets the
   * partition all the same.
   */
  shutdownLimitMs: number;
  /** How long a partition that has just moved stays, unless its node goes. */
  minimumHoldMs: number;
  restartGraceMs: number;
  /** Most partitions asked back per round. */
  movesPerRound: number;
  /** What is spread evenly: partitions, or the batches that they sent in the last minute. */
  by: 'count' | 'load';
}

export const DEFAULT_NODE_SETTINGS: NodeSettings = {
  name: null,
  attributes: {},
  leaseMs: 10_000,
  maxLeaseMs: 60_000,
  shutdownLimitMs: 5_000,
  minimumHoldMs: 5_000,
  restartGraceMs: 30_000,
  movesPerRound: 100,
  by: 'count',
};
