import { ActivityFailure, ApplicationFailure, sleep } from '@temporalio/workflow';
import { WORKER_STOPPING } from '../messages';

/** By then the worker that stops has no workflow task of the run any more. */
const MOVE_MS = 1_000;

/**
 * Takes a turn; null: its worker is stopping, and another one is to take it. The wait ends the
 * workflow task. Without it a busy worker would never stop: the server answers a workflow task with
 * the run's next one wherever a signal has come meanwhile, and a worker ends only when none of its
 * runs has one.
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

const isStopping = (error: unknown): boolean => {
  const { cause } = error instanceof ActivityFailure ? error : {};
  return cause instanceof ApplicationFailure && cause.type === WORKER_STOPPING;
};
