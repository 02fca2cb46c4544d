import {
  ActivityCancellationType,
  continueAsNew,
  proxyActivities,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import { completeSignal } from './definitions';
import type { CompletionSignal, MonitorInput } from './definitions';
import type { Beside } from './looking';
import { lookUntilIdle, upgradedWhileWaiting } from './looking';
import { handlerTaskQueue } from './naming';

setWorkflowOptions(upgradedWhileWaiting, monitor);

/** Completions at once; the others wait here. */
const AT_ONCE = 10;

/**
 * Asks what became of the batches that a downstream accepted (H7): one workflow a handler, started and told to look by the submission
 * whose batch was accepted, and by the sweeper. Its activity runs where the handler is: which batches, and when, is in the store.
 * It also takes what is told without being asked (`complete`): each is written by an activity beside the questions.
 */
export async function monitor({ handler }: MonitorInput): Promise<void> {
  const taskQueue = handlerTaskQueue(workflowInfo().taskQueue, handler);
  const { pollAccepted } = proxyActivities<Activities>({
    taskQueue,
    // A file of results takes as long as it takes; without a sign of life for 5 s its process is dead.
    startToCloseTimeout: '2 hours',
    heartbeatTimeout: '5s', // ticks come every second
    retry: { initialInterval: '200ms', maximumInterval: '1 minute' },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `accepted batches of ${handler}`,
  });
  const { completeAccepted } = proxyActivities<Activities>({
    taskQueue,
    // At most 1,000 results, read from the input: seconds. A process that dies in it is replaced after this.
    startToCloseTimeout: '30s',
    // For as long as the store is away. Told before its acceptance was written, the activity says when it comes again.
    retry: { initialInterval: '200ms', maximumInterval: '30s' },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `told about a batch of ${handler}`,
  });
  const inbox = new Inbox((told) => completeAccepted({ handler, told }));
  setHandler(completeSignal, (told) => inbox.add(told), { description: 'What became of an accepted batch' });
  await lookUntilIdle(
    () => pollAccepted({ handler }),
    () => continueAsNew<typeof monitor>({ handler }),
    'next question',
    inbox,
  );
}

/** Completions that came and are not written yet, worked off a few at a time, in the order in which they came. */
class Inbox implements Beside {
  private readonly waiting: CompletionSignal[] = [];
  private running = 0;
  private done = 0;

  constructor(private readonly complete: (told: CompletionSignal) => Promise<unknown>) {}

  add(told: CompletionSignal): void {
    this.waiting.push(told);
    if (this.running < AT_ONCE) void this.work();
  }

  isAtRest(): boolean {
    return this.running === 0 && this.waiting.length === 0;
  }

  ended(): number {
    return this.done;
  }

  private async work(): Promise<void> {
    this.running++;
    for (let told = this.waiting.shift(); told !== undefined; told = this.waiting.shift()) {
      // Retried until it is written or refused; a failure in spite of that is in the history, and the batch is asked about as before.
      await this.complete(told).catch(() => undefined);
      this.done++;
    }
    this.running--;
  }
}
