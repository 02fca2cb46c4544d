import { CancellationScope, log } from '@temporalio/workflow';

/** Logged by a run that is not in its root scope. The worker process looks for this message. */
export const FOREIGN_SCOPE = 'this run began in the cancellation scope of another one';

/**
 * Checks at the beginning of a run that it is in its own root scope. After workflow code was cut
 * off, its thread starts new runs in the scope of that run, and everything they wait for is
 * cancelled together with it.
 *
 * @throws Error that fails the workflow task, so that another worker takes the run.
 */
export const checkOwnScope = (): void => {
  if (CancellationScope.current().parent === undefined) return;
  log.error(FOREIGN_SCOPE);
  throw new Error(FOREIGN_SCOPE);
};
