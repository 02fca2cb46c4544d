import type { WorkerOptions } from '@temporalio/worker';

/**
 * Lets an error end its run. A bug in a workflow's code, and a history that today's code cannot
 * replay, then cost a run and not the installation: everything is in the store, and the sweeper
 * begins the next run. By default their workflow task is repeated without end. For every type: a
 * new one is no exception.
 */
export const WORKFLOW_FAILURES: Pick<WorkerOptions, 'workflowFailureErrorTypes'> = {
  workflowFailureErrorTypes: { '*': ['Error'] },
};
