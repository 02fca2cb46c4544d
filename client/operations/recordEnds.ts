import type { EndedByHand } from '../../activities/callbacks/notificationsOfEnds';
import { notificationsOfEnds } from '../../activities/callbacks/notificationsOfEnds';
import { insertNotifications } from '../../postgres/calls/records';
import { noteEnds } from '../../postgres/outcomes/uncounted';
import type { Client as Transaction } from '../../postgres/pool';
import { countsOf, ENDS } from '../../workflows/planning/outcomes/kinds';

/**
 * Tells what ends that no call made are followed by, in their transaction: the messages to
 * recipients, and the counts of their handlers.
 */
export const recordEnds = async (
  tx: Transaction,
  ended: readonly EndedByHand[],
  { state, error }: { state: 'succeeded' | 'failed' | 'cancelled'; error: string | null },
): Promise<void> => {
  if (ended.length === 0) return;
  const notifications = notificationsOfEnds(ended, { state, ...(error === null ? {} : { error }) });
  if (notifications.length > 0) await insertNotifications(tx, notifications);
  const byHandler = new Map<string, number>();
  for (const { handler } of ended) byHandler.set(handler, (byHandler.get(handler) ?? 0) + 1);
  await noteEnds(
    tx,
    [...byHandler].map(([handler, n]) => ({ handler, ends: countsOf(ENDS, new Map([[state, n]])) })),
  );
};
