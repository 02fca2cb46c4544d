import {
  ActivityCancellationType,
  ApplicationFailure,
  continueAsNew,
  patched,
  proxyActivities,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '../activities';
import { MAX_BACKOFF } from './loops/backOff';
import { completeSignal } from './definitions';
import type { CompletionSignal, MonitorInput } from './definitions';
import { Inbox } from './signals/inbox';
import { lookUntilIdle } from './loops/lookLoop';
import type { SideWork } from './loops/lookLoop';
import { handlerOfMonitor, handlerTaskQueue, monitorWorkflowId } from './naming';
import { unreadOf } from './planning/unread';
import { isLateStart } from './loops/startLimits';
import { Signals } from './signals/signals';
import { upgradedWhileWaiting } from './versioning';

setWorkflowOptions(upgradedWhileWaiting, monitor);

/**
 * Polls the batches that a downstream accepted: one workflow per handler, started and told to look
 * by the dispatch whose batch was accepted, and by the sweeper. Its activity runs where the handler
 * is: the store says which batches, and when. It also takes completions that are signalled to it
 * (`complete`).
 *
 * Anyone may start or signal it, with anything. Its handler is therefore that of its id, and of its
 * input it reads only what a run that continued as new has left to it.
 */
export async function monitor(input?: Partial<MonitorInput>): Promise<void> {
  const { taskQueue: prefix, workflowId } = workflowInfo();
  const handler = handlerOfMonitor(workflowId);
  if (handler === null)
    throw ApplicationFailure.nonRetryable(
      `Cannot monitor under the id ${workflowId}: expected ${monitorWorkflowId(prefix, '<handler>')} on the task queue ${prefix}.`,
    );
  const { pollAccepted } = proxyActivities<Activities>({
    taskQueue: handlerTaskQueue(prefix, handler),
    // Reading results may take long; without a sign of life for 5 s its process is dead.
    startToCloseTimeout: '2 hours',
    heartbeatTimeout: '5s', // ticks come every second
    // No worker serves the handler, or none has room: the run ends, and the sweeper begins the next
    // one when there is one that does.
    scheduleToStartTimeout: '1 minute',
    retry: { initialInterval: '200ms', maximumInterval: MAX_BACKOFF },
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `accepted batches of ${handler}`,
  });
  const completions = new Completions(handler, input);
  setHandler(completeSignal, (one) => completions.add(one), { description: 'What became of an accepted batch' });
  await lookUntilIdle(
    () => pollAccepted({ handler }).catch(nothingIfNotTaken),
    () => continueAsNew<typeof monitor>({ handler, ...completions.carried() }),
    'next question',
    completions,
  );
}

/**
 * Takes what was signalled to this run. A run from before there were `Signals` keeps handing it on.
 */
class Completions implements SideWork {
  private by: Signals | Inbox | null;

  constructor(
    private readonly handler: string,
    input: unknown,
  ) {
    this.by = unreadOf(input).length > 0 ? new Signals(handler, input) : null;
  }

  add(completion: CompletionSignal): void {
    this.by ??= patched('signals-are-read') ? new Signals(this.handler, null) : new Inbox(this.handler);
    this.by.add(completion);
  }

  isAtRest(): boolean {
    return this.by?.isAtRest() ?? true;
  }

  stop(): void {
    if (this.by instanceof Signals) this.by.stop();
  }

  mayContinueAsNew(isFull: boolean): boolean {
    if (this.by instanceof Signals) return isFull || this.by.mayContinueAsNew();
    return this.isAtRest();
  }

  carried(): Pick<MonitorInput, 'unread'> {
    const unread = this.by instanceof Signals ? this.by.carried() : [];
    return unread.length === 0 ? {} : { unread };
  }
}

const nothingIfNotTaken = (error: unknown): { dueInMs: null } => {
  if (isLateStart(error)) return { dueInMs: null };
  throw error;
};
