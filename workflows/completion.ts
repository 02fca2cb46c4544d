import {
  ActivityCancellationType,
  log,
  proxyActivities,
  proxyLocalActivities,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import type { TakeAnswer } from '../activities/accepted/takeSignalled';
import { MAX_BACKOFF } from './loops/backOff';
import type { CompletionInput, CompletionSignal, ReadSignals, SignalledCompletion } from './definitions';
import { showDetails } from './loops/details';
import { upgradedWhileWaiting } from './versioning';
import { handlerTaskQueue } from './naming';
import type { UnreadRun } from './planning/unread';
import { completionStart } from './planning/webUi/starts';
import { whyUnreadable } from './planning/unreadable';
import { signalReader } from './signals/signalReader';

setWorkflowOptions(upgradedWhileWaiting, completion);

const { knowsHandler } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '30s',
  summary: 'looks for the handler',
});

/**
 * Takes a completion of an accepted batch, reported by the downstream or by another system on its
 * behalf, and returns what became of it. Each workflow has a separate history: so a bad completion
 * does not affect others, any number may arrive at once, and the starter can read the result. The
 * completion is in `input`. `handedOn` holds completions that a handler's monitor received as
 * signals and handed on; each of them is taken separately.
 */
export async function completion(
  input: CompletionInput,
  ...handedOn: CompletionSignal[]
): Promise<SignalledCompletion | SignalledCompletion[] | ReadSignals> {
  const unread = whyUnreadable(input);
  if (unread !== null)
    return {
      kind: 'unreadable',
      error: `completion: expected plain JSON (json/plain), got what cannot be read here: ${unread}`,
    };
  const handler: unknown = (input as CompletionInput | null | undefined)?.handler;
  const ended: unknown = (input as CompletionInput | null | undefined)?.endedMonitor;
  const told = handedOn.length === 0 && ended === undefined ? input : undefined;
  const known = typeof handler === 'string' && (await knowsHandler({ handler, told }));
  if (typeof known === 'object') return known;
  if (typeof handler !== 'string' || !known) {
    const error = `handler: expected the name of a handler of this installation, got ${JSON.stringify(handler) ?? 'nothing'}`;
    log.warn('a completion was refused', { error });
    return { kind: 'unknown-handler', error };
  }
  if (typeof ended === 'string') return readEndedMonitor(handler, ended);
  const { completeAccepted } = proxyActivities<Activities>({
    taskQueue: handlerTaskQueue(workflowInfo().taskQueue, handler),
    // Taking at most 1,000 results takes seconds. If the process dies meanwhile, the activity is
    // tried again after this time.
    startToCloseTimeout: '30s',
    // Workers that serve this handler may be down for a while. After this time the sender is told
    // that no worker took the completion.
    scheduleToStartTimeout: '24 hours',
    // It is retried for as long as the store is unavailable. If the completion arrived before the
    // acceptance was stored, the activity says when to try again.
    retry: { initialInterval: '200ms', maximumInterval: MAX_BACKOFF },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `told about a batch of ${handler}`,
  });
  showDetails(
    `Waits, a day at most, for a worker that serves **${handler}** to record ` +
      `${handedOn.length > 1 ? `${handedOn.length} completions` : 'the completion'}.`,
    completionStart(handler, Math.max(1, handedOn.length)),
  );
  if (handedOn.length === 0) return completeAccepted({ handler, told: input });
  const ends = await Promise.allSettled(handedOn.map((told) => completeAccepted({ handler, told })));
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason; // the others have ended by now
    return end.value;
  });
}

/**
 * Takes the completions that a run of the handler's monitor left unread when it was terminated (by
 * a server or an operator), failed or was cancelled.
 */
const readEndedMonitor = async (handler: string, ended: string): Promise<ReadSignals> => {
  const sum: ReadSignals = { kind: 'read', completed: 0, repeated: 0, handedOn: 0 };
  const reader = signalReader(handler, { scheduleToStartTimeout: '24 hours' });
  for (let unread: UnreadRun[] | null = null; unread === null || unread.length > 0;) {
    const answer: TakeAnswer = await reader.takeSignalled(
      unread === null ? { handler, unread: [], ended } : { handler, unread },
    );
    for (const key of ['completed', 'repeated', 'handedOn'] as const) sum[key] += answer[key];
    unread = answer.unread;
    const { completed, repeated, handedOn } = sum;
    showDetails(
      `Reads what was signalled to an ended monitor of **${handler}**: ` +
        `${completed} completed, ${repeated} repeated, ${handedOn} handed on; ${unread.length} runs left to read.`,
      completionStart(handler, null),
    );
  }
  return sum;
};
