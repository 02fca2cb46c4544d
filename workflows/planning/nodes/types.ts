/**
 * What a round of the assignor reads and decides. All of it is read in one snapshot; all times are
 * of the database's clock.
 */

export interface PartitionFacts {
  id: string;
  /**
   * Process that the lease names, also after the lease was given up or ran out; null: no process
   * has had it yet.
   */
  holder: string | null;
  epoch: number;
  /** The lease ran out or was given up: the partition is free. */
  expired: boolean;
  /** Time since the holder got it. */
  heldMs: number;
  /**
   * The holder was asked to give it up for this process, which gets it when it is free, if that
   * still makes sense then.
   */
  revokedFor: string | null;
  /** Its load, in any unit; 1 without figures. Anything below 0 or not finite counts as 1. */
  weight: number;
  /** A node must have all of these. */
  attributes: Readonly<Record<string, string>>;
  /** A node must have it. */
  handler: string | null;
  /**
   * An operator's pin, by process or by the node's name: the partition goes there while that node
   * is live and able.
   */
  pinned: string | null;
}

export interface NodeFacts {
  /** Id of the process. */
  id: string;
  alive: boolean;
  /**
   * It is to have nothing: what it has is revoked, and no grace holds for it. A process that only
   * restarts is not draining.
   */
  draining: boolean;
  attributes: Readonly<Record<string, string>>;
  handlers: readonly string[];
  /** How long it has been silent; meaningless while it is alive. */
  missingMs: number;
  /**
   * The node's own name, which stays when its process is started again; null: the process is the
   * node.
   */
  successorOf: string | null;
  /** Of two processes of one name the one that started later is the node; 0 if unknown. */
  startedMs?: number;
}

export interface Limits {
  /**
   * Most revokes per round. Free partitions are all given out at once: that does no harm, and
   * waiting would.
   */
  movesPerRound: number;
  /** How long a partition that moved stays, as far as evenness is concerned. */
  minimumHoldMs: number;
  /** By load: part of the mean above or below which a node is left alone. */
  deadBand: number;
  /** A node that is missing for less keeps what it had. */
  restartGraceMs: number;
  by: 'count' | 'weight';
}

export type MoveReason = 'free' | 'expired' | 'uneven' | 'load' | 'drain' | 'attributes' | 'pinned';

export interface Move {
  partition: string;
  /**
   * `revoke`: `from` is asked to give it up, intended for `to`. `assign`: it is free, and `to` gets
   * it under a new epoch.
   */
  kind: 'revoke' | 'assign';
  /** The present or last holder. */
  from: string | null;
  to: string | null;
  reason: MoveReason;
  /** A sentence for operators, with the figures. */
  explanation: string;
}
