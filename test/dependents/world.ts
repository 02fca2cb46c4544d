import { workOffEnded } from '../../activities/grouping/dependents';
import { InvalidTaskError } from '../../client';
import type { TaskProblem } from '../../client';
import { settleSucceeded } from '../../postgres/calls/settle';
import type { Shop } from '../client/shop';
import { cut } from '../client/shop';
import { eventually } from '../helpers/eventually';

/** A task of one target, which waits for these. */
export const task = (id: string, dependsOn: string[] = [], rest: object = {}) => ({
  id,
  payload: { to: 'se' },
  ...(dependsOn.length > 0 ? { dependsOn } : {}),
  ...rest,
});

/** Returns why a submit is refused. */
export const problemsOf = async ({ client }: Shop, tasks: readonly object[]): Promise<TaskProblem[]> => {
  const error = await client.submit('items', tasks as never).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(InvalidTaskError);
  return [...(error as InvalidTaskError).problems];
};

/** Ends created tasks with success, as a settlement does. */
export const succeed = async ({ pool }: Shop, ...ids: string[]): Promise<void> => {
  const id = await cut(pool, ids);
  const settled = await settleSucceeded(pool, [{ id, attempt: 0, counts: true }], [], []);
  expect(settled.size).toBe(1);
};

/** Waits until dependents are released or failed: a call itself waits for that a moment only. */
export const workedOff = async ({ pool }: Shop): Promise<void> => {
  await eventually(async () => {
    await workOffEnded(pool);
    return (await pool.query('select from ended_dependency')).rowCount === 0;
  });
};
