import { continueAsNew, proxyActivities, setWorkflowOptions } from '@temporalio/workflow';
import type { Activities } from '../activities';
import { lookUntilIdle, upgradedWhileWaiting } from './looking';

/**
 * A look delivers for 10 s and ends what it began: a delivery takes 10 s at most, a signal less.
 * Retried without end: the outbox must go out.
 */
const { deliverNotifications } = proxyActivities<Activities>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '500ms', maximumInterval: '30s' },
});

setWorkflowOptions(upgradedWhileWaiting, notifier);

/**
 * Delivers callbacks (DESIGN section 4.6): one workflow an installation, started and told to look
 * by whoever wrote a notification, and by the sweeper. What is to be said, to whom and when is in
 * the store.
 */
export async function notifier(): Promise<void> {
  await lookUntilIdle(
    () => deliverNotifications(),
    () => continueAsNew<typeof notifier>(),
    'next delivery',
  );
}
