import { condition, proxyActivities, setHandler } from '@temporalio/workflow';
import type { Activities } from '../../../activities';
import { lookSignal } from '../../../workflows/definitions';

export { leader } from '../../../workflows/leader';

const { deliverNotifications } = proxyActivities<Activities>({ startToCloseTimeout: '2 minutes' });

/**
 * The notifier with a planted fault: it lowers its flag after the look, so a look that comes during
 * one is lost.
 */
export async function notifier(): Promise<void> {
  let woken = false;
  setHandler(lookSignal, () => void (woken = true));
  for (;;) {
    const { dueInMs } = await deliverNotifications();
    woken = false;
    if (dueInMs === 0) continue;
    if (dueInMs === null) return;
    await condition(() => woken, dueInMs);
  }
}
