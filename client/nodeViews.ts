/** Nodes and partitions as people look at them: plain JSON, times as ISO text, durations in milliseconds of the database's clock. */

export interface NodeView {
  /** Of this process; the next one has another. */
  id: string;
  /** The same after a restart (`MUSTER_NODE_NAME`); null: none was given. */
  name: string | null;
  handlers: string[];
  attributes: Record<string, string>;
  /** Answers roll calls of executions. */
  batch: boolean;
  version: string;
  /** Seen within the last 30 s. Its leases do not wait so long: they end by their own times. */
  alive: boolean;
  /** Since its last sign of life. */
  seenMs: number;
  startedAt: string;
  /** Its process is stopping. */
  draining: boolean;
  /** By `drainNode`: it is to have no partitions. */
  drained: boolean;
  /** How many it holds: leases that have not passed. */
  partitions: number;
  /** Batches that ended in the last minute and whose last call it made. */
  load: number;
  /** Calls that it began and that may still be under way (B5); a process that was killed keeps them until their deadline, or until they are taken over. */
  inFlight: number;
  /** Partitions that those calls belong to, held by it or not (B5). */
  processing: number;
}

/**
 * `held`; `revoked`: its holder was asked to give it up; `kept`: given up by a node that restarts, nobody else gets it yet;
 * `expired`: its lease passed and nobody took it yet; `free`: nobody holds it.
 */
export type PartitionState = 'held' | 'revoked' | 'kept' | 'expired' | 'free';

export interface PartitionView {
  /** `<handler>/<no>`. */
  partition: string;
  handler: string;
  no: number;
  state: PartitionState;
  /** Id of the node that the lease names, also when that has just passed; null: nobody's. */
  holder: string | null;
  holderName: string | null;
  /** Rises with every holder. */
  epoch: number;
  /** Since the holder got it. */
  sinceMs: number | null;
  /** Below 0: the lease passed so long ago. */
  leaseLeftMs: number | null;
  /** Since its holder was asked to give it up, and for whom; null: it was not, or for nobody in particular. */
  revokedMs: number | null;
  wantedBy: string | null;
  wantedByName: string | null;
  /** The name of the node that restarts. */
  keptFor: string | null;
  keptLeftMs: number | null;
  /** By `movePartition`: a node's id or name. */
  pinnedTo: string | null;
  /** Batches of it that ended in the last minute. */
  load: number;
  /** Nodes with calls of it under way, whoever holds it (B5): a node that lost it may still be at work. */
  processing: { node: string; name: string | null; calls: number }[];
  /** Null: nobody has had it yet. */
  lastMove: { at: string; why: string | null } | null;
}
