/**
 * What a round of the assignor reads and decides. All facts are read in one snapshot. All times are
 * by the database's clock, in milliseconds.
 */

export interface PartitionFacts {
  id: string;
  /**
   * The process that the lease names, even after the lease was given up or ran out; null: no
   * process has had it yet.
   */
  holder: string | null;
  epoch: number;
  /** The lease ran out or was given up: the partition is free. */
  expired: boolean;
  /** Time since the holder got the partition. */
  heldMs: number;
  /**
   * The holder was asked to give the partition up for this process, which gets it once it is free,
   * if the plan of that round still wants so. Null: the holder was not asked.
   */
  revokedFor: string | null;
  /**
   * Its load, in any unit; 1 if nothing was measured. A load that is negative or not finite counts
   * as 1.
   */
  weight: number;
  /** Attributes of which a node must have all. */
  attributes: Readonly<Record<string, string>>;
  /** The handler that a node must have; null: any node will do. */
  handler: string | null;
  /**
   * The node to which an operator pinned the partition, by process id or by name: the partition
   * goes there while that node is live and able. Null: it is not pinned.
   */
  pinned: string | null;
}

export interface NodeFacts {
  /** Id of the process. */
  id: string;
  alive: boolean;
  /**
   * The node is to have no partitions: those that it has are revoked, and no restart grace applies.
   * A process that merely restarts is not draining.
   */
  draining: boolean;
  attributes: Readonly<Record<string, string>>;
  handlers: readonly string[];
  /** What it had is kept for it, since it restarts; meaningless while the process is alive. */
  isKept: boolean;
  /**
   * The node's own name, which stays the same when its process restarts; null: the process is the
   * node.
   */
  successorOf: string | null;
  /**
   * When the process started, in Unix milliseconds; 0 or left out: unknown. Of two processes of one
   * name the later one runs the node.
   */
  startedMs?: number;
}

export interface Limits {
  /**
   * Most revokes per round. Free partitions are all assigned at once: that does no harm, and
   * waiting would.
   */
  movesPerRound: number;
  /** How long a partition that has moved stays where it is, as far as evenness is concerned. */
  minimumHoldMs: number;
  /**
   * By load: the part of the mean by which a node may be above or below it without being changed.
   */
  deadBand: number;
  by: 'count' | 'weight';
}

export type MoveReason = 'free' | 'expired' | 'uneven' | 'load' | 'drain' | 'attributes' | 'pinned';

export interface Move {
  partition: string;
  /**
   * `revoke`: `from` is asked to give the partition up, which is intended for `to`. `assign`: the
   * partition is free, and `to` gets it under a new epoch.
   */
  kind: 'revoke' | 'assign';
  /** The present or last holder. */
  from: string | null;
  to: string | null;
  reason: MoveReason;
  /** A sentence for operators, with the figures. */
  explanation: string;
}
