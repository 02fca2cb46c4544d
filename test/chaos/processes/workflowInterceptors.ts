import { log } from '@temporalio/workflow';
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * What the chaos worker's logger looks for. The log of a workflow is written by the main thread
 * before the server is told anything.
 */
const CONTINUING = 'chaos: continues as new';

/** In the chaos workers' bundle only: says that a run is about to continue as new. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      continueAsNew: (input, next) => {
        const { leaderId, queuerId } = input.args[0] as { leaderId?: number; queuerId?: number };
        log.info(CONTINUING, { leaderId: leaderId ?? queuerId });
        return next(input);
      },
    },
  ],
});
