import { conflictOn } from './conflicts';
import { isInFlight } from './statuses';
import type { ApproachName, Lane, LaneKind, QueuedBatch } from './types';

/** Decides whether a batch may go beside those before it in its lane. One per approach. */
export interface Approach {
  readonly name: ApproachName;
  /**
   * Returns what the batch must wait for: one of `earlier` (open, before it in the lane, in order;
   * this plan's grants as submitted), or else of `later` (after it and in flight). Null: it may go.
   */
  blockedBy(
    batch: QueuedBatch,
    earlier: readonly QueuedBatch[],
    later: readonly QueuedBatch[],
    kind: LaneKind,
  ): Blocker | null;
}
export interface Blocker {
  batch: QueuedBatch;
  /** The state key on which they conflict, '*' where one declared none; null: order alone. */
  key: string | null;
}

/**
 * Says whether `batch` must wait for `other`, which is open before it in the lane, if the two must
 * not change places.
 */
const waitsForEarlier = (batch: QueuedBatch, other: QueuedBatch, kind: LaneKind): boolean => {
  const isAccepted = other.status === 'pending' || other.status === 'valid';
  // The downstream keeps the order of what it accepted; what is still being sent to it may be
  // overtaken. And once a batch was lost, the downstream may have lost what came before it too: a
  // lost one waits until all before it have ended.
  return !(kind === 'guaranteed' && isAccepted && batch.status !== 'unknown');
};

/**
 * A batch that was put back must not be sent beside one behind it that is in flight: that one may
 * still be applied.
 */
const waitsForLater = (other: QueuedBatch): boolean => isInFlight(other.status);

/**
 * Sends one after the other; the next when the one before was committed, or accepted where the
 * downstream keeps the order.
 */
const inOrder: Approach['blockedBy'] = (one, earlier, later, kind) => {
  const batch = earlier.find((other) => waitsForEarlier(one, other, kind)) ?? later.find(waitsForLater);
  return batch === undefined ? null : { batch, key: null };
};

const unconstrained: Approach = {
  name: 'unconstrained',
  // A downstream that keeps the order must be given one.
  blockedBy: (batch, earlier, later, kind) => (kind === 'guaranteed' ? inOrder(batch, earlier, later, kind) : null),
};

const serial: Approach = { name: 'serial', blockedBy: inOrder };

/**
 * The next goes early if its sets do not overlap with anything open before it, sent or not: what
 * waits there is not overtaken either.
 */
const parallel: Approach = {
  name: 'parallel',
  blockedBy: (batch, earlier, later, kind) =>
    firstConflict(
      batch,
      earlier.filter((other) => waitsForEarlier(batch, other, kind)),
    ) ?? firstConflict(batch, later.filter(waitsForLater)),
};

const firstConflict = (batch: QueuedBatch, others: readonly QueuedBatch[]): Blocker | null => {
  for (const other of others) {
    const key = conflictOn(other, batch);
    if (key !== null) return { batch: other, key };
  }
  return null;
};

const approaches: Readonly<Record<ApproachName, Approach>> = { unconstrained, serial, parallel };

/**
 * Returns the approach and kind by which a lane is served: in halt mode each batch depends on the
 * commit of the one before.
 */
export const approachOf = ({
  kind,
  approach,
  onInvalid,
}: Pick<Lane, 'kind' | 'approach' | 'onInvalid'>): { approach: Approach; kind: LaneKind } =>
  onInvalid === 'halt' ? { approach: serial, kind: 'non-guaranteed' } : { approach: approaches[approach], kind };

/** How far a lane is searched, beyond what is in flight, for batches that may go early. */
const LOOKAHEAD = 64;

/**
 * Returns how many of a lane's first open batches a plan must be given. The statement reads one
 * more, for `openMore`.
 */
export const windowOf = (lane: Pick<Lane, 'kind' | 'approach' | 'onInvalid' | 'pending'>): number => {
  const { approach, kind } = approachOf(lane);
  return approach.name === 'serial' && kind === 'non-guaranteed' ? 1 : lane.pending + LOOKAHEAD;
};

/**
 * Checks that kind and approach of a lane change only while none of its batches is in flight: those
 * sent under the old ones may conflict under the new. @throws Error saying so.
 */
export const checkApproachChange = ({ service, pending }: Pick<Lane, 'service' | 'pending'>): void => {
  if (pending > 0)
    throw new Error(
      `lane "${service}": expected nothing in flight while its kind or approach changes, got ${pending}; pause the lane, wait until they end, and try again`,
    );
};
