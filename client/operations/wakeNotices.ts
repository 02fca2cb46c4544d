import { wakeNotifier } from '../../workflows/wake';
import type { ClientContext } from '../context';

/** Wakes the notifier. The notices are committed: the sweeper repeats a wake that fails. */
export const wakeNotices = (client: ClientContext): Promise<void> =>
  client.wake((temporal) => wakeNotifier(temporal, client.prefix));
