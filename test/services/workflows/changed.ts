import { sleep } from '@temporalio/workflow';
import type { TaskResult } from '../../../workflows/helper';
import { submitTask } from '../../../workflows/helper';

/** The user's workflow `one`, changed: its recorded histories must not replay. */
export const one = async (handler: string, id: string, payload: unknown, options: object): Promise<TaskResult> => {
  await sleep(1);
  return submitTask(handler, { id, payload }, options);
};
