import { wakeNotifier } from '../../workflows/wake';
import type { ClientContext } from '../context';

/** The notices are committed: a wake that fails is repeated by the sweeper. */
export const wakeNotices = (client: ClientContext): Promise<void> =>
  client.wake((temporal) => wakeNotifier(temporal, client.prefix));
