import { ActivityFailure, ApplicationFailure, sleep } from '@temporalio/workflow';
import { WORKER_STOPPING } from '../messages';

/**
 * Wait in milliseconds, after which the stopping worker has no workflow task of the run any more.
 */
const MOVE_MS = 1_000;

/**
 * Takes a turn. Null: the worker is stopping, and another worker has to take the turn. In that case
 * this waits a moment, which ends the workflow task. Without the wait a busy worker would never
 * stop: if a signal has arrived meanwhile, the server answers a completed workflow task with the
 * next one of the same run, and a worker stops only when none of its runs has a workflow task.
 */
export const unlessStopping = async <T>(turn: () => Promise<T>): Promise<T | null> => {
  try {
    return await turn();
  } catch (error) {
    if (!isStopping(error)) throw error;
    await sleep(MOVE_MS, { summary: 'its worker is stopping' });
    return null;
  }
};

/**
 * Says whether a stopping worker refused the turn. The SDK passes on the failure of a local
 * activity as it is; it wraps only that of a regular activity in an `ActivityFailure`.
 */
const isStopping = (error: unknown): boolean => {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure && cause.type === WORKER_STOPPING;
};
