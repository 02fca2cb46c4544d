import type { ExplainFacts, Reason } from './facts';

/** What the parts of `explain` share: words, and the two reasons that may come before any other. */

export const because = (error: string | null): string => (error === null ? '' : `: ${error}`);

export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** Returns a duration as a person reads it. */
export const span = (ms: number): string => {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 10_000) return `${whole} ms`;
  if (whole < 600_000) return `${Math.round(whole / 1_000)} s`;
  return whole < 36_000_000 ? `${Math.round(whole / 60_000)} min` : `${Math.round(whole / 3_600_000)} h`;
};

/**
 * Explains a pause or a hold, which stops what has not begun, wherever it is. Null: there is
 * neither.
 */
export const stopped = ({ handler, target }: ExplainFacts): Reason | null => {
  if (handler.paused)
    return {
      waitsFor: 'pause',
      inMs: null,
      text: `Handler "${handler.name}" is paused${because(handler.pauseReason)}. It goes on after a resume.`,
    };
  if (target.paused)
    return {
      waitsFor: 'pause',
      inMs: null,
      text: `Target "${target.key}" is paused${because(target.pauseReason)}. It goes on after a resume.`,
    };
  const holds = [handler.holdInMs, target.holdInMs].filter((ms): ms is number => ms !== null && ms > 0);
  if (holds.length === 0) return null;
  const inMs = Math.max(...holds);
  const what = inMs === handler.holdInMs ? `Handler "${handler.name}"` : `Target "${target.key}"`;
  return {
    waitsFor: 'hold',
    inMs,
    text: `${what} is held back by the downstream's back pressure or a rate limit: nothing of it is sent for ${span(inMs)}.`,
  };
};
