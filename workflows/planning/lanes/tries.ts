/** The waits between the tries of one batch that the downstream refuses for now (503). */
const FIRST_WAIT_MS = 250;
const MORE_EACH_MS = 500;
/** After these the batch is delayed; waits of 20 s in all have passed. */
export const TRIES_MAX = 10;
/** A delayed batch may go again after this. */
export const DELAY_MS = 15_000;

export type NextTry =
  /** The same submitter tries again. */
  | { kind: 'try-again'; inMs: number }
  /** Status delayed: given back to its lane, at its place, until then. */
  | { kind: 'delay'; inMs: number };

/**
 * Decides after `tries` (from 1) refusals for now: 250 ms, then 500 ms more each, at most 10 tries,
 * then delayed; never given up, or a lane would lose a batch or its order. A longer wait that the
 * downstream asks for (Retry-After) counts instead; the lane then waits (`holdInMs`).
 */
export const nextTry = (tries: number, retryAfterMs: number | null = null): NextTry => {
  const asked = retryAfterMs ?? 0;
  if (tries >= TRIES_MAX) return { kind: 'delay', inMs: Math.max(DELAY_MS, asked) };
  return { kind: 'try-again', inMs: Math.max(FIRST_WAIT_MS + (Math.max(1, tries) - 1) * MORE_EACH_MS, asked) };
};
