import type { Duration } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time';

/**
 * Returns a duration in milliseconds: a number of them, or text such as `'2s'`. `verb`: what cannot
 * be done with another value, for the error.
 */
export const durationMs = (verb: string, value: Duration): number => {
  let ms: number | null = null;
  try {
    ms = msToNumber(value);
  } catch {
    // Not a text that the SDK reads: refused below.
  }
  if (ms !== null && ms >= 0 && Number.isFinite(ms)) return ms;
  throw new Error(
    `Cannot ${verb}: expected a duration of at least 0, got ${JSON.stringify(value)}. ` +
      'Give milliseconds, or text such as "2s" or "1 hour".',
  );
};
