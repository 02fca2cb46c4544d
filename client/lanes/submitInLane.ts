import type { Sealer } from '../../handlers/codec/sealer';
import type { Contract } from '../../handlers/types';
import { withRetries } from '../../postgres/errors';
import { insertLabels } from '../../postgres/grouping/labels';
import { lockLanes } from '../../postgres/lanes/lane';
import { insertLaneTasks } from '../../postgres/lanes/queue';
import type { Pool, Queryable } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { SERVICE_BYTES_MAX } from '../../workflows/planning/lanes/limits';
import type { LookedUpAtMs } from '../../postgres/grouping/target';
import type { NewTask } from '../../postgres/grouping/task';
import { checkBacklog, inLanes } from '../tasks/backlog';
import { joinTransaction } from '../transactions/join';
import { checkKeys, checkText, withDistinctKeys } from './checkBatch';
import type { CheckedTask } from '../tasks/checkTasks';
import type { TaskProblem } from '../errors';
import { keepObjects } from '../transactions/keptObjects';
import { knownIds } from '../tasks/repeats';

/** Stores single tasks of an ordered handler in the queues of their lanes. */

export const serviceOf = (handler: Contract, target: string, payload: string): string => {
  const service = handler.service!(target, JSON.parse(payload));
  checkText('service', service, SERVICE_BYTES_MAX);
  return service;
};

/** Returns the state keys of a single task, with that of `distinctBy`. */
export const stateKeysOf = (
  handler: Contract,
  { payload, key = null }: { payload: string; key?: string | null },
): { reads: string[]; writes: string[] } => {
  const keysOf = (field: 'reads' | 'writes'): string[] =>
    checkKeys(field, new Set(handler[field]?.(JSON.parse(payload)) ?? []));
  return withDistinctKeys({ reads: keysOf('reads'), writes: keysOf('writes') }, [key]);
};

export interface LaneSubmit {
  handler: Contract;
  handlerId: number;
  /** Target ids by key. */
  targetIds: ReadonlyMap<string, number>;
  tasks: readonly CheckedTask[];
  rows: readonly NewTask[];
  lookedUpAtMs: LookedUpAtMs;
  /** The lane of each task. */
  lanes: readonly number[];
  laneIds: readonly number[];
  partial: boolean;
  sealer: Sealer | null;
}

/**
 * Stores the tasks in one transaction, or in the caller's. It locks the lanes' rows until its
 * commit, so that the order in a lane is the order of the commits.
 */
export const storeInLanes = async (
  pool: Pool,
  schema: string,
  submit: LaneSubmit,
  tx: Queryable | undefined,
): Promise<{ accepted: number; repeated: number; refused: TaskProblem[] }> => {
  const tasks = submit.rows.map((row, i) => ({
    ...row,
    laneId: submit.lanes[i]!,
    ...stateKeysOf(submit.handler, { payload: submit.tasks[i]!.payload, key: row.key }), // of the plain one
  }));
  const work = async (db: Queryable): Promise<{ accepted: number; repeated: number; refused: TaskProblem[] }> => {
    await lockLanes(db, submit.laneIds);
    await checkBacklog(db, inLanes, submit.handler, submit.handlerId, submit.tasks, submit.targetIds);
    const inserted = await insertLaneTasks(db, tasks, submit.lookedUpAtMs);
    const fresh = submit.rows.filter(({ id }) => inserted.has(id));
    await insertLabels(db, fresh);
    await keepObjects(
      db,
      submit.sealer,
      fresh.map(({ payload }) => payload),
    );
    const refused: TaskProblem[] = [];
    if (inserted.size === tasks.length) return { accepted: inserted.size, repeated: 0, refused };
    const others = submit.tasks.filter((task) => !inserted.has(task.id));
    const known = await knownIds(db, submit.handler, others, refused, submit.partial, submit.sealer);
    return { accepted: inserted.size, repeated: known.repeated, refused };
  };
  return tx === undefined ? withRetries(() => inTransaction(pool, work)) : joinTransaction(tx, schema, work);
};
