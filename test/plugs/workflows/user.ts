import { submitTask } from '../../../workflows/helper';

/** A user's workflow: one task, and its result. */
export const one = async (prefix: string, id: string, payload: unknown): Promise<unknown> =>
  (await submitTask('jobs', { id, payload }, { prefix })).result;
