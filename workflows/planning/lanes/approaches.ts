import { conflictOn } from './conflicts';
import type { ApproachName, Lane, LaneKind, QueuedBatch } from './types';

/**
 * Decides whether a batch may be sent while other batches of its lane are in flight. There is one
 * rule per approach.
 */
export interface Approach {
  readonly name: ApproachName;
  /**
   * Returns the batch for which `batch` must wait. `earlier` are the open batches before it in the
   * lane, in order, with the grants of this plan as submitted; `later` are the batches after it
   * that are in flight. Null: it may go.
   */
  blockedBy<B extends Orderly>(
    batch: Orderly,
    earlier: readonly B[],
    later: readonly B[],
    kind: LaneKind,
  ): Blocker<B> | null;
}
/** What the rules look at. */
type Orderly = Pick<QueuedBatch, 'status' | 'reads' | 'writes'>;
export interface Blocker<B = QueuedBatch> {
  batch: B;
  /**
   * The state key on which the two conflict; '*': one of them declared no sets; null: only their
   * order counts.
   */
  key: string | null;
}

/**
 * Says whether `batch` must wait for `other`, an open batch before it in the lane, where the two
 * must be applied in order.
 */
const waitsForEarlier = (batch: Orderly, other: Orderly, kind: LaneKind): boolean => {
  const isAccepted = other.status === 'pending' || other.status === 'valid';
  // A guaranteed downstream keeps the order of what it has accepted, but a batch that is still
  // being sent may be overtaken. And where the downstream lost a batch, it may have lost the
  // batches before that too: a lost batch waits until all batches before it have ended.
  return !(kind === 'guaranteed' && isAccepted && batch.status !== 'unknown');
};

/**
 * Sends one batch after the other: the next one once the batch before was committed, or accepted if
 * the downstream keeps the order. One that was put back waits for those after it, which are in
 * flight and may still be applied.
 */
const inOrder: Approach['blockedBy'] = (one, earlier, later, kind) => {
  const batch = earlier.find((other) => waitsForEarlier(one, other, kind)) ?? later[0];
  return batch === undefined ? null : { batch, key: null };
};

const unconstrained: Approach = {
  name: 'unconstrained',
  // A downstream that keeps the order must receive the batches in order.
  blockedBy: (batch, earlier, later, kind) => (kind === 'guaranteed' ? inOrder(batch, earlier, later, kind) : null),
};

const serial: Approach = { name: 'serial', blockedBy: inOrder };

/**
 * Lets a batch go early if its sets conflict with no open batch before it, sent or not: a batch
 * that waits there is not overtaken either.
 */
const parallel: Approach = {
  name: 'parallel',
  blockedBy: (batch, earlier, later, kind) =>
    firstConflict(
      batch,
      earlier.filter((other) => waitsForEarlier(batch, other, kind)),
    ) ?? firstConflict(batch, later),
};

const firstConflict = <B extends Orderly>(batch: Orderly, others: readonly B[]): Blocker<B> | null => {
  for (const other of others) {
    const key = conflictOn(other, batch);
    if (key !== null) return { batch: other, key };
  }
  return null;
};

const approaches: Readonly<Record<ApproachName, Approach>> = { unconstrained, serial, parallel };

/**
 * Returns the approach and kind by which a lane is served. In halt mode each batch depends on the
 * commit of the batch before, whatever approach and kind the lane has.
 */
export const approachOf = ({
  kind,
  approach,
  onInvalid,
}: Pick<Lane, 'kind' | 'approach' | 'onInvalid'>): { approach: Approach; kind: LaneKind } =>
  onInvalid === 'halt' ? { approach: serial, kind: 'non-guaranteed' } : { approach: approaches[approach], kind };

/**
 * How many batches of a lane, beyond those in flight, are searched for batches that may go early.
 */
const LOOKAHEAD = 64;

/**
 * Returns how many of a lane's first open batches a plan needs. The statement reads one more, for
 * `openMore`.
 */
export const windowOf = (lane: Pick<Lane, 'kind' | 'approach' | 'onInvalid' | 'pending'>): number => {
  const { approach, kind } = approachOf(lane);
  return approach.name === 'serial' && kind === 'non-guaranteed' ? 1 : lane.pending + LOOKAHEAD;
};

/**
 * Checks that no batch of a lane is in flight while its kind or approach changes: batches sent
 * under the old rules may conflict under the new ones.
 *
 * @throws Error with the number of batches in flight, and what to do.
 */
export const checkApproachChange = ({ service, pending }: Pick<Lane, 'service' | 'pending'>): void => {
  if (pending > 0)
    throw new Error(
      `lane "${service}": Cannot change kind or approach: ${pending} of its batches are in flight. Pause the lane, wait until they have ended, and try again`,
    );
};
