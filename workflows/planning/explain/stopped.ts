import type { ExplainFacts, Reason } from './facts';
import { formatDuration } from '../duration';
import { because, ifBegunLate } from './format';
import { rateSetting } from './limitsSet';

/**
 * Explains a pause or a hold of the handler or target, which stops all of their tasks that are not
 * in a call. Null: there is neither.
 */
export const stopped = (facts: ExplainFacts): Reason | null => {
  const { handler, target } = facts;
  if (handler.paused)
    return {
      waitsFor: 'pause',
      inMs: null,
      text: `Handler "${handler.name}" is paused${because(handler.pauseReason)}. It continues when resumed.`,
    };
  if (target.paused)
    return {
      waitsFor: 'pause',
      inMs: null,
      text: `Target "${target.key}" is paused${because(target.pauseReason)}. It continues when resumed.`,
    };
  const holds = [handler.holdInMs, target.holdInMs].filter((ms): ms is number => ms !== null && ms > 0);
  if (holds.length === 0) return null;
  const inMs = Math.max(...holds);
  const what = inMs === handler.holdInMs ? `Handler "${handler.name}"` : `Target "${target.key}"`;
  return {
    waitsFor: 'hold',
    inMs,
    text: `${what} is held back by the downstream's back pressure or a rate limit: nothing is sent for ${formatDuration(inMs)}.${ifBegunLate(facts, inMs)}${rateSetting(facts)}`,
  };
};
