import type { Contract } from '../../handlers/types';
import { countQueuedInLanes, countQueuedInLanesOfTargets } from '../../postgres/lanes/queue';
import type { Queryable } from '../../postgres/pool';
import { countQueued, countQueuedOfTargets } from '../../postgres/grouping/task';
import { BackloggedError } from '../errors';

/** Counts the waiting tasks of a handler, or of targets, up to a limit. */
interface Waiting {
  ofHandler(db: Queryable, handlerId: number, limit: number): Promise<number>;
  ofTargets(db: Queryable, targetIds: readonly number[], limit: number): Promise<{ targetId: number; n: number }[]>;
}
export const inQueues: Waiting = { ofHandler: countQueued, ofTargets: countQueuedOfTargets };
/**
 * Counts the tasks that wait in lanes: those in the queues of lanes, and those in lane batches that
 * the downstream does not have.
 */
export const inLanes: Waiting = { ofHandler: countQueuedInLanes, ofTargets: countQueuedInLanesOfTargets };

/**
 * Applies back pressure upstream (`maxQueued`). In a caller's transaction, tasks that it has
 * written count too.
 *
 * @throws BackloggedError if `tasks` would exceed a limit.
 */
export const checkBacklog = async (
  db: Queryable,
  waiting: Waiting,
  handler: Contract,
  handlerId: number,
  tasks: readonly { target: string }[],
  targetIds: ReadonlyMap<string, number>,
): Promise<void> => {
  const { perHandler, perTarget } = handler.maxQueued;
  if (perHandler !== undefined) {
    const depth = await waiting.ofHandler(db, handlerId, perHandler);
    if (depth + tasks.length > perHandler) throw new BackloggedError(`handler "${handler.name}"`, depth, perHandler);
  }
  if (perTarget !== undefined) {
    const added = new Map<number, { key: string; n: number }>();
    for (const { target } of tasks) {
      const id = targetIds.get(target)!;
      added.set(id, { key: target, n: (added.get(id)?.n ?? 0) + 1 });
    }
    for (const { targetId, n } of await waiting.ofTargets(db, [...added.keys()], perTarget)) {
      const more = added.get(targetId)!;
      if (n + more.n > perTarget)
        throw new BackloggedError(`target "${more.key}" of handler "${handler.name}"`, n, perTarget);
    }
  }
};
