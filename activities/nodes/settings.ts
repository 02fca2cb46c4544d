/**
 * What an operator says of the nodes and of how partitions are spread over them (B4); the same on
 * all nodes. Times in milliseconds.
 */
export interface NodeSettings {
  /**
   * The same after a restart, one process each: who stops cleanly keeps its partitions for
   * `restartGraceMs`. Null: has none.
   */
  name: string | null;
  attributes: Readonly<Record<string, string>>;
  /** A partition's lease, renewed at a third of it. */
  leaseMs: number;
  /** The main thread may be silent for so long before its partitions are left to pass. */
  maxLeaseMs: number;
  /**
   * From a revocation on, a node may take so long to end its calls; then another one gets the
   * partition all the same.
   */
  shutdownLimitMs: number;
  /** A partition that has just moved stays for so long, unless its node goes (B13). */
  minimumHoldMs: number;
  restartGraceMs: number;
  /** Partitions asked back in one round, at most. */
  movesPerRound: number;
  /** What is spread evenly: partitions, or the batches that they sent in the last minute (B17). */
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
