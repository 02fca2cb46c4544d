import * as dependency from '../../postgres/grouping/dependency';
import type { Queryable } from '../../postgres/pool';

/**
 * Records which of the dependencies have ended, in the transaction that makes tasks wait for them.
 * The other dependencies cannot end before that transaction has committed, so their ends will find
 * the waiting tasks. `ends` has, by the seq of a dependency, the state in which it ended if it may
 * have been deleted since, or null to use its stored state.
 */
export const countEnded = async (db: Queryable, ends: ReadonlyMap<number, number | null>): Promise<void> => {
  if (ends.size === 0) return;
  const seqs = [...ends.keys()];
  await lockOpen(db, seqs);
  await dependency.noteEnded(db, seqs, [...ends.values()]);
};

/**
 * Locks tasks that have not ended, so that until the transaction ends they neither end nor move
 * into a batch. Takes locks in the same order as a cancellation: targets, lanes, batches.
 */
const lockOpen = async (db: Queryable, seqs: readonly number[]): Promise<void> => {
  const open = await dependency.findOpen(db, seqs);
  if (open.length === 0) return;
  const targets = open.flatMap(({ targetId, laneId }) => (laneId === null ? [targetId] : []));
  const lanes = [...new Set(open.flatMap(({ laneId }) => laneId ?? []))];
  if (targets.length > 0) await dependency.shareTargets(db, targets);
  if (lanes.length > 0) await dependency.shareLanes(db, lanes);
  await dependency.shareHeld(db, seqs);
  let before = '';
  for (let again = true; again;) {
    const locked = (await dependency.shareBatches(db, seqs)).join();
    again = locked !== before;
    before = locked;
  }
};
