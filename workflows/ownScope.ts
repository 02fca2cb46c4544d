import { CancellationScope, log } from '@temporalio/workflow';

/** Logged by a run that is not in its root scope; the worker's process looks for it. */
export const FOREIGN_SCOPE = 'this run began in the cancellation scope of another one';

/**
 * Checks, at the beginning of a run, that it is in its own root scope. After workflow code was cut
 * off, its thread begins new runs in the scope of the run that was cut off, and everything they
 * wait for is cancelled together with that run. Throws an error that fails the workflow task, so
 * that another worker takes the run.
 */
export const checkOwnScope = (): void => {
  if (CancellationScope.current().parent === undefined) return;
  log.error(FOREIGN_SCOPE);
  throw new Error(FOREIGN_SCOPE);
};
