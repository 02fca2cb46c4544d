import { HookTimeoutError, runHook } from '../../handlers/hooks/bounded';
import type { Hooks } from '../../handlers/hooks/types';
import { describeThrown } from '../../handlers/text';
import { HookFailedError } from '../errors';
import type { CheckedTask } from './checkTasks';

/**
 * Asks `taskAccepted` whether these tasks may be accepted, before anything is written. Throws its
 * refusal as it is, and a `HookFailedError` where the hook itself fails.
 */
export const askAccepting = async (
  hooks: Hooks | undefined,
  handler: string,
  tasks: readonly Pick<CheckedTask, 'id' | 'target' | 'payload'>[],
): Promise<void> => {
  if (hooks?.taskAccepted === undefined) return;
  const shown = tasks.map(({ id, target, payload }) => ({ id, target, payload: JSON.parse(payload) as unknown }));
  try {
    await runHook(hooks, 'taskAccepted', { handler, tasks: shown });
  } catch (thrown) {
    if (isRefusal(thrown)) throw thrown;
    const why =
      thrown instanceof HookTimeoutError ? thrown.message : `the hook taskAccepted threw: ${describeThrown(thrown)}`;
    throw new HookFailedError(why, thrown);
  }
};

/** By name: the error may be of another copy of the package. */
export const isRefusal = (thrown: unknown): thrown is Error =>
  thrown instanceof Error && thrown.name === 'TaskRefusedError';
