import type { Queryable } from '../../postgres/pool';
import type { TaskProblem } from '../errors';
import { joinTransaction } from '../transactions/join';
import type { FewTasks } from './storeFew';
import { storeFew } from './storeFew';

export interface Counted {
  accepted: number;
  repeated: number;
}

/**
 * Stores tasks in the caller's transaction: they are accepted if and only if it commits. A refusal
 * leaves that transaction as it was.
 */
export const storeInTheirs = async (
  tx: Queryable,
  schema: string,
  check: (db: Queryable) => Promise<void>,
  call: FewTasks,
  refused: TaskProblem[],
): Promise<Counted> => {
  const stored = await joinTransaction(tx, schema, async (db) => {
    await check(db);
    return storeFew(db, call);
  });
  refused.push(...stored.problems);
  return { accepted: stored.inserted, repeated: stored.repeated };
};
