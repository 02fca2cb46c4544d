import type { NewNotification } from '../../postgres/calls/records';
import type { TaskEnd, TasksEnded } from '../../workflows/definitions';

/** A task that an operator ended, and its initiator. */
export interface EndedByHand {
  id: string;
  handler: string;
  target: string;
  initiatorId: number | null;
  batchId: number | null;
}

/**
 * Returns one message for each initiator and batch (or target, if there was no batch). No attempt
 * number: no call made this end, and a batch may be resolved in parts, each with a separate
 * message.
 */
export const notificationsOfEnds = (ends: readonly EndedByHand[], end: Omit<TaskEnd, 'id'>): NewNotification[] => {
  const messages = new Map<string, NewNotification & { body: TasksEnded }>();
  for (const { id, handler, target, initiatorId, batchId } of ends) {
    if (initiatorId === null) continue;
    const key = JSON.stringify([initiatorId, batchId, handler, target]);
    let message = messages.get(key);
    if (message === undefined) {
      const body: TasksEnded = { handler, target, batch: batchId, tasks: [] };
      messages.set(key, (message = { batch_id: batchId, attempt: null, initiator_id: initiatorId, body }));
    }
    message.body.tasks.push({ id, ...end });
  }
  return [...messages.values()];
};
