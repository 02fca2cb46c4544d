import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { isRegisteredHandler } from '../../postgres/grouping/handler';
import type { CompletionSignal, MonitorInput, SignalledCompletion } from '../../workflows/definitions';
import { workflowTaskQueue } from '../../workflows/naming';
import { completionStart } from '../../workflows/planning/webUi/starts';
import type { ActivityDeps } from '../deps';
import { completeAtOnce } from './completeSignalled';
import { isStorableText } from '../../handlers/text';

/** Signalled completions, with the id of the workflow that is to take them. */
export interface HandOnInput extends MonitorInput {
  id: string;
  told: CompletionSignal[];
}

const START_DEADLINE_MS = 10_000;

/** Starts that workflow; repeating the call has no effect. */
export const handOnCompletions = async (
  { requests, prefix }: Pick<ActivityDeps, 'requests' | 'prefix'>,
  { handler, id, told }: HandOnInput,
): Promise<void> => {
  const options = {
    workflowId: id,
    taskQueue: workflowTaskQueue(prefix),
    args: [{ handler }, ...told],
    workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
    ...completionStart(handler, told.length),
  };
  try {
    await requests.send(
      { kind: 'completion', handler },
      (temporal) => temporal.workflow.start('completion', options),
      START_DEADLINE_MS,
    );
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
};

/**
 * Says whether a worker of this installation has, or had, a handler of this name. If a completion
 * is given and this worker can take it at once, it does, and returns the result too. Stored
 * histories know the activity by the name of its first half.
 */
export const knowsHandler = async (
  deps: ActivityDeps,
  { handler, told }: MonitorInput & { told?: CompletionSignal },
): Promise<boolean | SignalledCompletion> => {
  if (!isStorableText(handler)) return false;
  const answer = told === undefined ? null : await completeAtOnce(deps, { handler, told });
  return answer ?? isRegisteredHandler(deps.pool, handler);
};
