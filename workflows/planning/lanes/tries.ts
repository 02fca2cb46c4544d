/**
 * Waits in milliseconds between the tries of a batch that the downstream refuses for now (HTTP
 * 503).
 */
const FIRST_WAIT_MS = 250;
const MORE_EACH_MS = 500;
/** After this many refusals the batch is delayed. By then it has waited 20 s in all. */
export const TRIES_MAX = 10;
/** After this many milliseconds a delayed batch may go again. */
export const DELAY_MS = 15_000;

export type NextTry =
  /** The same submitter tries again. */
  | { kind: 'try-again'; inMs: number }
  /** The batch becomes `delayed`: it returns to its place in the lane until then. */
  | { kind: 'delay'; inMs: number };

/**
 * Decides how a batch is tried again after it was refused for now `tries` times (from 1): after 250
 * ms, then 500 ms longer each time; after 10 tries it is delayed. A batch is never given up, or its
 * lane would lose the batch or its order. If the downstream asks for a longer wait (Retry-After),
 * that one counts, and the whole lane waits (`holdInMs`).
 */
export const nextTry = (tries: number, retryAfterMs: number | null = null): NextTry => {
  const asked = retryAfterMs ?? 0;
  if (tries >= TRIES_MAX) return { kind: 'delay', inMs: Math.max(DELAY_MS, asked) };
  return { kind: 'try-again', inMs: Math.max(FIRST_WAIT_MS + (Math.max(1, tries) - 1) * MORE_EACH_MS, asked) };
};
