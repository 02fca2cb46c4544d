import { continueAsNew, proxyActivities, setWorkflowOptions } from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { NotifierInput } from './definitions';
import { MAX_BACKOFF } from './loops/backOff';
import { lookUntilIdle } from './loops/lookLoop';
import { NOTIFIER_RUN } from './planning/looks';
import { notifierStart } from './planning/webUi/starts';
import { upgradedWhileWaiting } from './versioning';

/**
 * A look starts deliveries for 10 s and then finishes them: a delivery takes at most 10 s. It is
 * retried without end, since the outbox must be delivered.
 */
const { deliverNotifications } = proxyActivities<Activities>({
  startToCloseTimeout: '2 minutes',
  // Heartbeats come every second (from workers of 0.1.0 every five); the SDK sends one per 6.4 s.
  heartbeatTimeout: '8s',
  retry: { initialInterval: '500ms', maximumInterval: MAX_BACKOFF },
  summary: 'delivers callbacks',
});

setWorkflowOptions(upgradedWhileWaiting, notifier);

/**
 * Delivers callbacks. There is one notifier per installation. Processes that write notifications
 * start it, or tell it to look, and so does the sweeper. The store says what is to be delivered, to
 * whom and when.
 */
export async function notifier(input?: NotifierInput): Promise<void> {
  await lookUntilIdle(
    async () => {
      const { dueInMs, lastError, delivered, putOff, givenUp } = await deliverNotifications();
      return { dueInMs, lastError, did: { delivered, 'put off': putOff, 'given up': givenUp } };
    },
    () => continueAsNew<typeof notifier>(NOTIFIER_RUN),
    { title: 'Notifier', waitsFor: 'next delivery', start: notifierStart(), mostEvents: input?.mostEvents },
  );
}
