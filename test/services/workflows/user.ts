import { continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { TaskResult } from '../../../workflows/helper';
import { submitTask, submitTasks } from '../../../workflows/helper';

/** Workflows as a user of `temporal-muster/workflow` writes them. */
type Payload = Record<string, unknown>;
interface Options {
  timeout?: number;
  prefix?: string;
}

export const one = (handler: string, id: string, payload: Payload, options: Options): Promise<TaskResult> =>
  submitTask(handler, { id, payload }, options);

export const many = (handler: string, ids: string[], payload: Payload, options: Options): Promise<TaskResult[]> =>
  submitTasks(
    handler,
    ids.map((id) => ({ id, payload })),
    options,
  );

export const inTurn = async (
  handler: string,
  ids: string[],
  payload: Payload,
  options: Options,
): Promise<TaskResult[]> => {
  const results: TaskResult[] = [];
  for (const id of ids) results.push(await submitTask(handler, { id, payload }, options));
  return results;
};

export const sideBySide = (handler: string, ids: string[], payload: Payload, options: Options): Promise<TaskResult[]> =>
  Promise.all(ids.map((id) => submitTask(handler, { id, payload }, options)));

/**
 * Continues as new while its task is under way: the first run gives up waiting, the second one
 * submits the same task again.
 */
export const continued = async (
  handler: string,
  id: string,
  payload: Payload,
  options: Options,
): Promise<TaskResult> => {
  if (workflowInfo().continuedFromExecutionRunId !== undefined) return submitTask(handler, { id, payload }, options);
  await submitTask(handler, { id, payload }, { ...options, timeout: 500 }).catch(() => undefined);
  return continueAsNew<typeof continued>(handler, id, payload, options);
};
