import type { ExplainFacts, Reason } from './facts';
import { ifCoarse } from './format';
import { isStalled, waitForStalled } from './stalled';
import { formatDuration } from '../duration';

/**
 * Explains a task that is due, but that its leader has not taken yet. `what` names the task or
 * batch at the beginning of the sentence.
 */
export const waitForLeader = (facts: ExplainFacts, what: string): Reason => {
  const { handler, leader, target } = facts;
  if (!handler.served)
    return {
      waitsFor: 'leader',
      inMs: null,
      text: `${what} is ready, but no live worker serves handler "${handler.name}". Start a worker whose config has this handler.`,
    };
  if (leader.state === 'idle')
    return {
      waitsFor: 'leader',
      inMs: null,
      text: `${what} is ready, but leader "${leader.name}" is idle and was not woken: any worker's sweeper wakes it within seconds.`,
    };
  if (isStalled(leader)) return waitForStalled(facts, what);
  if (leader.expiresInMs !== null && leader.expiresInMs <= 0)
    return {
      waitsFor: 'leader',
      inMs: null,
      text:
        `${what} is ready, but leader "${leader.name}" has been silent for ` +
        `${formatDuration(-leader.expiresInMs)} past its lease: the sweeper of any worker wakes it, ` +
        'unless all are stopped or overloaded.',
    };
  if (target.dueInMs === null)
    return {
      waitsFor: 'leader',
      inMs: null,
      text: `${what} is ready, but its leader was not notified about target "${target.key}": any worker's sweeper does so within seconds.`,
    };
  if (leader.state === 'waiting' && leader.wakeInMs !== null && leader.wakeInMs > 0)
    return {
      waitsFor: 'leader',
      inMs: leader.wakeInMs,
      text:
        `${what} is next for leader "${leader.name}", which looks again within ` +
        `${formatDuration(leader.wakeInMs)}.${ifCoarse(facts, leader.wakeInMs)}`,
    };
  return { waitsFor: 'leader', inMs: 0, text: `${what} is next for leader "${leader.name}", which is at work now.` };
};
