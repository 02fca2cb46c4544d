import type { NewNotification } from '../../postgres/calls/records';
import type { TaskEnd, TasksEnded } from '../../workflows/definitions';

/** A task that no call ended, and its recipient. */
export interface EndedByHand {
  id: string;
  handler: string;
  target: string;
  recipientId: number | null;
  batchId: number | null;
  /** If not all of them have the same. */
  error?: string;
}

/**
 * Returns one message for each recipient and batch (or target, if there was no batch). No attempt
 * number: no call made this end, and a batch may be resolved in parts, each with a separate
 * message.
 */
export const notificationsOfEnds = (ends: readonly EndedByHand[], end: Omit<TaskEnd, 'id'>): NewNotification[] => {
  const messages = new Map<string, NewNotification & { body: TasksEnded }>();
  for (const { id, handler, target, recipientId, batchId, error } of ends) {
    if (recipientId === null) continue;
    const key = JSON.stringify([recipientId, batchId, handler, target]);
    let message = messages.get(key);
    if (message === undefined) {
      const body: TasksEnded = { handler, target, batch: batchId, tasks: [] };
      messages.set(key, (message = { batch_id: batchId, attempt: null, recipient_id: recipientId, body }));
    }
    message.body.tasks.push({ id, ...end, ...(error === undefined ? {} : { error }) });
  }
  return [...messages.values()];
};
