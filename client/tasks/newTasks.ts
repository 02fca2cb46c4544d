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
  return tasks.map((task, i) =>
    newTask(
      task,
      targetIds.get(task.target)!,
      payloads === null ? task.payload : payloads[i]!,
      recipientIds[i]!,
      version,
      trace,
    ),
  );
};

/** Returns one of them. The fields are listed one by one: a spread costs as much as all else. */
export const newTask = (
  { id, bytes, weight, key, priority, notBeforeMs, expiresAtMs, labels }: CheckedTask,
  targetId: number,
  payload: string,
  recipientId: number | null,
  version: number | null,
  trace: string | null,
): NewTask => ({
  id,
  targetId,
  payload,
  bytes,
  weight,
  key,
  priority,
  recipientId,
  notBeforeMs,
  expiresAtMs,
  version,
  trace,
  labels,
});
