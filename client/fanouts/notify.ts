import type { CompletedRow } from '../../postgres/fanouts/fanout';
import type { ClientContext } from '../context';
import { wakeNotifierOf } from '../operations/wakeNotifier';
import type { CompletedFanout } from './fanout';

/**
 * Wakes the notifier if a recipient must be notified, and returns the completions. The transaction
 * of the completion has stored the message already: this only makes it arrive sooner.
 */
export const notifyOf = async (
  client: ClientContext,
  completed: readonly CompletedRow[],
): Promise<CompletedFanout[]> => {
  if (completed.some(({ told }) => told)) await wakeNotifierOf(client);
  return completed.map(({ told: _, ...fanout }) => fanout);
};
