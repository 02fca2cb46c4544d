/** The operator's limit of attempts per item, if the config file has none. */
export const DEFAULT_MAX_ATTEMPTS = 10;

/**
 * How often in a row an item may be lost with its node while it ran, if the config file says
 * nothing. The first loss counts no attempt: nodes die of other causes. The next ones do, and the
 * last one fails it for good, since an item that takes its process down would walk through all
 * nodes.
 */
export const DEFAULT_MAX_LOSSES = 3;

/** Says how far an item is within its chunk: those that were lost before come last. */
export const LOST_BEFORE = 2 ** 31;

const WINDOW_MAX = 500;
const SHORT_MS = 50;
const LONG_MS = 200;

/**
 * Returns how many items the next announcement covers, by how long those of the one before took:
 * few where items take long, so that few are suspected if the node dies, and many where a write
 * per item would be most of the work. `least`: as many as run at once.
 */
export const nextWindow = (window: number, tookMs: number, least: number): number => {
  if (tookMs < SHORT_MS) return Math.max(least, Math.min(WINDOW_MAX, 2 * window));
  return tookMs > LONG_MS ? Math.max(least, Math.floor(window / 2)) : window;
};

/** How one run of an item ended. */
export interface Ran {
  /** Null: the function did not exit. */
  exitCode: number | null;
  /**
   * The node could not run the item properly: the function is missing, its start failed, or a limit
   * ended it. The exit code is then meaningless.
   */
  nodeError: boolean;
}

export const succeeded = ({ exitCode, nodeError }: Ran): boolean => exitCode === 0 && !nodeError;
