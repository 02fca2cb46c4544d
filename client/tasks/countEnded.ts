import { noteEnded } from '../../postgres/grouping/dependency';
import type { Queryable } from '../../postgres/pool';

/**
 * Records which of the dependencies have ended, in the transaction that makes tasks wait for them.
 * The other dependencies cannot end before that transaction has committed, so their ends will find
 * the waiting tasks. `ends` has, by the seq of a dependency, the state in which it ended if it may
 * have been deleted since, or null to use its stored state.
 */
export const countEnded = async (db: Queryable, ends: ReadonlyMap<number, number | null>): Promise<void> => {
  if (ends.size > 0) await noteEnded(db, [...ends.keys()], [...ends.values()]);
};
