import { wakeNotifier } from '../../workflows/wake';
import type { ClientContext } from '../context';

/** Wakes the notifier after notifications were committed. The sweeper repeats a wake that fails. */
export const wakeNotifierOf = (client: Pick<ClientContext, 'prefix' | 'wake'>): Promise<void> =>
  client.wake((requests) => wakeNotifier(requests, client.prefix));
