import { storedVersionOf } from '../../handlers/contracts/payloadVersion';
import type { Contract } from '../../handlers/types';
import type { NewTask } from '../../postgres/grouping/task';
import type { CheckedTask } from './checkTasks';

interface Known {
  /** The payloads as they are stored; null: as they are. */
  payloads: readonly string[] | null;
  /** Ids of targets by key. */
  targetIds: ReadonlyMap<string, number>;
  recipientIds: readonly (number | null)[];
  /** The trace context under which they are submitted; null: their trace is not recorded. */
  trace: string | null;
}

/** Returns checked tasks as they are to be stored. */
export const newTasks = (
  handler: Contract,
  tasks: readonly CheckedTask[],
  { payloads, targetIds, recipientIds, trace }: Known,
): NewTask[] => {
  const version = storedVersionOf(handler);
  // The fields are listed one by one: a spread costs as much as all else that is done for a task.
  return tasks.map(({ id, payload, bytes, weight, key, priority, notBeforeMs, expiresAtMs, target, labels }, i) => ({
    id,
    targetId: targetIds.get(target)!,
    payload: payloads === null ? payload : payloads[i]!,
    bytes,
    weight,
    key,
    priority,
    recipientId: recipientIds[i]!,
    notBeforeMs,
    expiresAtMs,
    version,
    trace,
    labels,
  }));
};
