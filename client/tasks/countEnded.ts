import * as dependency from '../../postgres/grouping/dependency';
import type { Queryable } from '../../postgres/pool';

/**
 * Notes those of the dependencies that have ended, in the transaction that makes tasks wait for
 * them. The others are kept from ending until its commit, and their end then finds what waits.
 * `ends`: by their seq, how those ended that may have been deleted since; null: as they are.
 */
export const countEnded = async (db: Queryable, ends: ReadonlyMap<number, number | null>): Promise<void> => {
  if (ends.size === 0) return;
  const seqs = [...ends.keys()];
  await lockOpen(db, seqs);
  await dependency.noteEnded(db, seqs, [...ends.values()]);
};

/**
 * Keeps tasks that have not ended from ending, or from coming closer to it, until the transaction
 * ends. Takes locks in the order of a cancellation: targets, lanes, batches.
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
