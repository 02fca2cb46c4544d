/**
 * What a round of the assignor knows and says. All of it is read in one snapshot; all times are of
 * the database's clock.
 */

export interface PartitionFacts {
  id: string;
  /**
   * Process that the lease names, also after the lease was given up or ran out; null: nobody had it
   * yet.
   */
  holder: string | null;
  epoch: number;
  /** The lease ran out or was given up: it is free, whoever had it. */
  expired: boolean;
  /** Since the holder got it. */
  heldMs: number;
  /**
   * A revoke is on its way to the holder, for this process: it gets it when it is free, if that is
   * sensible then.
   */
  revokedFor: string | null;
  /** Its load, in any unit; 1 without figures. Anything below 0 or not finite counts as 1. */
  weight: number;
  /** A node must have all of these. */
  attributes: Readonly<Record<string, string>>;
  /** A node must have it. */
  handler: string | null;
  /**
   * An admin's move, by process or by the node's name: it goes there while that node is there and
   * able.
   */
  pinned: string | null;
  /** Two said under one epoch that they hold it: both lose it. */
  claimedTwice?: boolean;
}

export interface NodeFacts {
  /** Of the process. */
  id: string;
  alive: boolean;
  /**
   * It is to have nothing: what it has is revoked, and no grace holds for it. A process that only
   * restarts is not draining.
   */
  draining: boolean;
  attributes: Readonly<Record<string, string>>;
  handlers: readonly string[];
  /** How long nothing was heard of it; of no meaning while it is alive. */
  missingMs: number;
  /**
   * The node's own name, which stays when its process is started again; null: the process is the
   * node.
   */
  successorOf: string | null;
  /** Of two processes of one name the one that started later is the node; 0 if it is not said. */
  startedMs?: number;
}

export interface Limits {
  /**
   * Revokes of one round. What nobody holds is given out at once: it harms nobody, and waiting
   * would.
   */
  movesPerRound: number;
  /** A partition that moved stays so long, as far as evenness is concerned (B13). */
  minimumHoldMs: number;
  /** By load: part of the mean above or below which a node is left alone (B17). */
  deadBand: number;
  /** A node that is missing for less keeps what it had. */
  restartGraceMs: number;
  by: 'count' | 'weight';
}

export type MoveReason = 'free' | 'expired' | 'uneven' | 'load' | 'drain' | 'attributes' | 'pinned' | 'claimed twice';

export interface Move {
  partition: string;
  /**
   * `revoke`: `from` is asked to give it up, with `to` in mind. `assign`: nobody holds it, `to`
   * gets it under a new epoch.
   */
  kind: 'revoke' | 'assign';
  /** The holder, or who had it last. */
  from: string | null;
  to: string | null;
  reason: MoveReason;
  /** A sentence for people, with the figures. */
  words: string;
}
