/**
 * Polls `read` until it answers something other than undefined, null or false; the last state is in
 * the error. Never a sleep that hopes.
 */
export const eventually = async <T>(
  read: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  options: { timeoutMs?: number; everyMs?: number; what?: string | (() => string | Promise<string>) } = {},
): Promise<T> => {
  const { timeoutMs = 120_000, everyMs = 25, what = 'the expected state' } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline)
      throw new Error(`waited ${timeoutMs} ms for ${typeof what === 'string' ? what : await what()}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
};
