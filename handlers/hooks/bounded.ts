import type { Hooks } from './types';

export const HOOK_NAMES = ['taskAccepted', 'batchFormed', 'beforeCall', 'afterCall', 'taskEnded'] as const;
export type HookName = (typeof HOOK_NAMES)[number];

export const HOOK_TIMEOUT_MS = { least: 10, most: 60_000, byDefault: 5_000 } as const;

/** A hook did not end in time; it may go on, and what it does then changes nothing. */
export class HookTimeoutError extends Error {
  override readonly name = 'HookTimeoutError';
  constructor(hook: HookName, ms: number) {
    super(`the hook ${hook} did not end within ${ms} ms (hooks.timeoutMs)`);
  }
}

const timeoutOf = ({ timeoutMs }: Hooks): number => timeoutMs ?? HOOK_TIMEOUT_MS.byDefault;

/** Runs a hook. Rejects with what it throws, or with a `HookTimeoutError` after its time limit. */
export const runHook = async <N extends HookName>(
  hooks: Hooks,
  name: N,
  event: Parameters<NonNullable<Hooks[N]>>[0],
): Promise<void> => {
  const ms = timeoutOf(hooks);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HookTimeoutError(name, ms)), ms);
  });
  try {
    const hook = hooks[name] as (event: unknown) => unknown;
    await Promise.race([Promise.resolve(hook.call(hooks, event)), late]);
  } finally {
    clearTimeout(timer);
  }
};
