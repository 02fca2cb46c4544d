import { conflictOn } from './conflicts';
import { isInFlight } from './statuses';
import type { Approach, ApproachName, Blocker, Lane, LaneKind, QueuedBatch } from './types';

/** What a batch must not overtake, and what must not be in flight behind it. */
const hinders = (other: QueuedBatch, isEarlier: boolean, kind: LaneKind): boolean => {
  if (!isEarlier) return isInFlight(other.status); // A resubmission: what was sent after it may still be applied (C7).
  // The downstream keeps the order of what it accepted; what is on its way to it may still be overtaken (C14).
  return !(kind === 'guaranteed' && (other.status === 'pending' || other.status === 'valid'));
};

/** Sent one after the other; the next when the one before was committed, or accepted where the downstream keeps the order. */
const inOrder = (earlier: readonly QueuedBatch[], later: readonly QueuedBatch[], kind: LaneKind): Blocker | null => {
  const batch =
    earlier.find((other) => hinders(other, true, kind)) ?? later.find((other) => hinders(other, false, kind));
  return batch === undefined ? null : { batch, key: null };
};

const unconstrained: Approach = {
  name: 'unconstrained',
  // A downstream that keeps the order must be given one.
  blockedBy: (_batch, earlier, later, kind) => (kind === 'guaranteed' ? inOrder(earlier, later, kind) : null),
};

const serial: Approach = {
  name: 'serial',
  blockedBy: (_batch, earlier, later, kind) => inOrder(earlier, later, kind),
};

/** Next early if its sets do not overlap with anything open before it, sent or not: what waits there is not overtaken either. */
const parallel: Approach = {
  name: 'parallel',
  blockedBy: (batch, earlier, later, kind) => {
    const conflictWith = (others: readonly QueuedBatch[], areEarlier: boolean): Blocker | null => {
      for (const other of others) {
        const key = hinders(other, areEarlier, kind) ? conflictOn(other, batch) : null;
        if (key !== null) return { batch: other, key };
      }
      return null;
    };
    return conflictWith(earlier, true) ?? conflictWith(later, false);
  },
};

const approaches: Readonly<Record<ApproachName, Approach>> = { unconstrained, serial, parallel };

/** The approach and kind by which a lane is served: in halt mode each batch depends on the commit of the one before (C19). */
export const approachOf = ({
  kind,
  approach,
  onInvalid,
}: Pick<Lane, 'kind' | 'approach' | 'onInvalid'>): { approach: Approach; kind: LaneKind } =>
  onInvalid === 'halt' ? { approach: serial, kind: 'non-guaranteed' } : { approach: approaches[approach], kind };

/** How far a lane is looked into beyond what is in flight, for what may go early. */
const LOOKAHEAD = 64;

/** How many of a lane's first open batches a plan must be given. The statement reads one more, for `openMore`. */
export const windowOf = (lane: Pick<Lane, 'kind' | 'approach' | 'onInvalid' | 'pending'>): number => {
  const { approach, kind } = approachOf(lane);
  return approach.name === 'serial' && kind === 'non-guaranteed' ? 1 : lane.pending + LOOKAHEAD;
};

/**
 * Kind and approach of a lane change only while nothing of it is in flight: what was sent under the old ones may conflict under the new.
 * @throws Error saying so.
 */
export const checkApproachChange = ({ service, pending }: Pick<Lane, 'service' | 'pending'>): void => {
  if (pending > 0)
    throw new Error(
      `lane "${service}": expected nothing in flight while its kind or approach changes, got ${pending}; pause it, wait for them, and try again`,
    );
};
