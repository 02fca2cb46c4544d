/**
 * What an operator or a supervisor asks of a process: the first signal to stop in order, the second
 * to end at once.
 */
export interface Stop {
  /** Aborted by the first signal. */
  signal: AbortSignal;
  /** The signal that came, for the exit code and the log. */
  by(): NodeJS.Signals | null;
  /** Back to the default behaviour. */
  release(): void;
}

const NUMBERS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;
const SIGNALS = Object.keys(NUMBERS) as (keyof typeof NUMBERS)[];

/**
 * Ctrl-C under `npx` arrives twice: from the terminal, and passed on by npm. A person needs longer
 * for a second one.
 */
const SAME_MS = 500;

/**
 * Stops on signals. `said` is called for the first signal, to say what happens now. The second ends
 * the process with 128 + its number, as a shell expects.
 */
export const stopOnSignals = (said: (signal: NodeJS.Signals) => void): Stop => {
  const controller = new AbortController();
  let by: NodeJS.Signals | null = null;
  let since = 0;
  const listeners = SIGNALS.map((name) => {
    const listener = (): void => {
      if (by !== null && performance.now() - since < SAME_MS) return;
      if (by !== null) process.exit(128 + NUMBERS[name]);
      by = name;
      since = performance.now();
      said(name);
      controller.abort(new Error(`stopped by ${name}`));
    };
    process.on(name, listener);
    return [name, listener] as const;
  });
  return {
    signal: controller.signal,
    by: () => by,
    release: () => {
      for (const [name, listener] of listeners) process.off(name, listener);
    },
  };
};
