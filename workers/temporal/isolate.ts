import type { CompiledWorkerOptions, LogMetadata } from '@temporalio/worker';
import { MusterError } from '../../client/errors';
import { FOREIGN_SCOPE } from '../../workflows/ownScope';

/**
 * Longest that one entry into workflow code may take. The SDK means to catch endless loops with it,
 * but it counts wall-clock time: a process that does not run for that long (a paused VM, a
 * throttled cgroup, SIGSTOP) is cut off in the middle of workflow code, which leaves the whole
 * workflow thread unusable (`isPoisoned`), or lets Node abort the process. The default of 5 s is
 * reached easily.
 *
 * The option is not in the SDK's public type, but is read from the worker's options: the type is
 * the compiled options', so that the compiler tells when it goes.
 */
export const ISOLATE_LIMIT: Pick<CompiledWorkerOptions, 'isolateExecutionTimeout'> = { isolateExecutionTimeout: '10m' };

/**
 * What Node's `vm` says when it cuts workflow code off, in what the SDK says of a workflow task
 * that failed.
 */
const CUT_OFF = /Script execution timed out after \d+ms/;
const FAILED_TASK = /^(Failing workflow task|Failed to process Workflow Activation)$/;

/**
 * Recognizes a line of the SDK's log that says that this process's workflow thread is unusable: its
 * code was cut off at the limit, or a run began in the cancellation scope of another one, which is
 * the consequence. New runs then fail or stand still, while the process polls and looks healthy.
 */
export const isPoisoned = (message: string, { failure, error }: LogMetadata = {}): boolean =>
  message === FOREIGN_SCOPE || (FAILED_TASK.test(message) && CUT_OFF.test(`${String(failure)} ${String(error)}`));

/**
 * Ends a worker process whose workflow thread is unusable, with exit code 1: its supervisor starts
 * another.
 */
export class PoisonedWorkerError extends MusterError {
  constructor() {
    super(
      'WORKER_POISONED',
      'Cannot run workflows in this process any more: workflow code was interrupted midway, as after a stop of ten minutes. Restart the process.',
    );
  }
}
