import { wakeNotifier } from '../workflows/wake';
import type { ClientContext } from './context';

/** The notices are committed: a wake that fails is repeated by the sweeper. */
export const wakeNotices = async (client: ClientContext): Promise<void> => {
  try {
    const failure = await wakeNotifier(await client.temporal(), client.prefix);
    if (failure !== null) client.wakeFailed(failure);
  } catch (error) {
    client.wakeFailed(error as Error);
  }
};
