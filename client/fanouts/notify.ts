import type { CompletedRow } from '../../postgres/fanouts/fanout';
import type { ClientContext } from '../context';
import { wakeNotifierOf } from '../operations/wakeNotifier';
import type { CompletedFanout } from './fanout';

/**
 * Wakes the notifier where a recipient is to be told, and returns the completions. The messages
 * are in the store, from the transaction of the completion; this only makes them leave at once.
 */
export const notifyOf = async (
  client: ClientContext,
  completed: readonly CompletedRow[],
): Promise<CompletedFanout[]> => {
  if (completed.some(({ told }) => told)) await wakeNotifierOf(client);
  return completed.map(({ told: _, ...fanout }) => fanout);
};
