import type { EndedByHand } from '../../activities/callbacks/notificationsOfEnds';
import { notificationsOfEnds } from '../../activities/callbacks/notificationsOfEnds';
import { noteUnsent } from '../../activities/outcomes/noted';
import { insertNotifications } from '../../postgres/calls/records';
import type { Client as Transaction } from '../../postgres/pool';

/**
 * Records what follows ends that no call made, in their transaction: the messages to recipients,
 * and the counts of their handlers.
 */
export const recordEnds = async (
  tx: Transaction,
  ended: readonly EndedByHand[],
  { state, error }: { state: 'succeeded' | 'failed' | 'cancelled'; error: string | null },
): Promise<void> => {
  if (ended.length === 0) return;
  const notifications = notificationsOfEnds(ended, { state, ...(error === null ? {} : { error }) });
  if (notifications.length > 0) await insertNotifications(tx, notifications);
  await noteUnsent(tx, ended, state);
};
