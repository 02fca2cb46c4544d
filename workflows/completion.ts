import {
  ActivityCancellationType,
  log,
  proxyActivities,
  proxyLocalActivities,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { CompletionInput, CompletionSignal, SignalledCompletion } from './definitions';
import { upgradedWhileWaiting } from './looking';
import { handlerTaskQueue } from './naming';
import { whyUnreadable } from './planning/unreadable';

setWorkflowOptions(upgradedWhileWaiting, completion);

const { knowsHandler } = proxyLocalActivities<Activities>({ startToCloseTimeout: '10s' });

/**
 * Takes what a downstream, or somebody for it, tells of an accepted batch (H7), and answers what
 * came of it. It has a history of its own: a bad one harms no other, any number may come at once,
 * and whoever starts it can read the answer. It is told in `input`; a handler's monitor hands on
 * what was signalled to it in `handedOn`, some together, each taken by itself.
 */
export async function completion(
  input: CompletionInput,
  ...handedOn: CompletionSignal[]
): Promise<SignalledCompletion | SignalledCompletion[]> {
  const unread = whyUnreadable(input);
  if (unread !== null)
    return {
      kind: 'unreadable',
      error: `completion: expected plain JSON (json/plain), got what cannot be read here: ${unread}`,
    };
  const handler: unknown = (input as CompletionInput | null | undefined)?.handler;
  if (typeof handler !== 'string' || !(await knowsHandler({ handler }))) {
    const error = `handler: expected the name of a handler of this installation, got ${JSON.stringify(handler) ?? 'nothing'}`;
    log.warn('a completion was refused', { error });
    return { kind: 'unknown-handler', error };
  }
  const { completeAccepted } = proxyActivities<Activities>({
    taskQueue: handlerTaskQueue(workflowInfo().taskQueue, handler),
    // At most 1,000 results, read from the input: seconds. A process that dies in it is replaced
    // after this.
    startToCloseTimeout: '30s',
    // Workers that serve this handler may be away for a while; then whoever told it must hear that
    // nobody took it.
    scheduleToStartTimeout: '24 hours',
    // For as long as the store is away. Told before its acceptance was written, the activity says
    // when it comes again.
    retry: { initialInterval: '200ms', maximumInterval: '30s' },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `told about a batch of ${handler}`,
  });
  if (handedOn.length === 0) return completeAccepted({ handler, told: input });
  const ends = await Promise.allSettled(handedOn.map((told) => completeAccepted({ handler, told })));
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason; // the others have ended by now
    return end.value;
  });
}
