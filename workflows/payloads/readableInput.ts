import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { whyUnreadable } from '../planning/unreadable';

/** A monitor does not need its input, and a completion returns that it cannot read its input. */
const TAKES_ANYTHING = ['monitor', 'completion'];

/**
 * Ends a run whose input this worker cannot read, because it was started with another data
 * converter: before the workers got one, or by a worker that has none yet. Otherwise the run would
 * go on forever with nothing to work on. Everything is in the store, and the sweeper of a worker
 * starts the next run.
 */
export const interceptors = (): WorkflowInterceptors => ({
  inbound: [
    {
      execute: (input, next) => {
        const why = whyUnreadable(input.args[0]);
        if (why === null || TAKES_ANYTHING.includes(workflowInfo().workflowType)) return next(input);
        const error = ApplicationFailure.nonRetryable(
          `Cannot read the input of this run: ${why}. The sweeper begins it anew; give all workers, clients and the API the same data converter.`,
          'MusterUnreadable',
        );
        return Promise.reject(error); // thrown here, it would fail the workflow task, and be repeated without end
      },
    },
  ],
});
