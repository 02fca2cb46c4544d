import { OWN_CALLS, SHARED_RATE } from '../grouping/next';
import type { ExplainFacts, HeldPart, QueuedPart, Reason } from './facts';
import { waitForLeader } from './leader';
import type { LimitName } from '../limits/limits';
import { isStalled } from './stalled';
import { formatDuration } from '../duration';
import { count, ifBegunLate, ifCoarse, ifLate } from './format';
import { bySetting, rateSetting, sharedText } from './limitsSet';
import { stopped } from './stopped';

/**
 * Explains a created task, which is held, or waits for its time, or is ready in the queue of its
 * target.
 */
export const explainQueued = (facts: ExplainFacts): Reason => {
  const { queued, delayedInMs, attempts } = facts;
  if (facts.held !== null) return explainHeld(facts.held);
  if (delayedInMs !== null && delayedInMs > 0) return explainDelayed(facts, delayedInMs);
  const held = stopped(facts);
  if (held !== null) return held;
  // The task's time has come: the next claim of its target moves it into the queue.
  if (queued === null) return waitForLeader(facts, attempts === 0 ? 'It' : `After ${count(attempts, 'attempt')} it`);
  if (queued.keyHolder !== null)
    return {
      waitsFor: 'key',
      inMs: null,
      text: `Task "${queued.keyHolder}" has the same distinctBy key "${queued.key}" and goes first; this task waits until it has ended.`,
    };
  const ready = explainReady(facts, queued);
  return queued.successor == null ? ready : { ...ready, text: `${ready.text} ${withSuccessor(queued.successor)}` };
};

const withSuccessor = (id: string): string =>
  `Task "${id}" has the same coalesceBy key and is later: if both still wait then, only that one is sent, ` +
  `and this one ends as cancelled.`;

/**
 * Explains a held task: its dependencies have not all ended, or they have and the task is about to
 * be released.
 */
const explainHeld = ({ dependencies, open, ids }: HeldPart): Reason => {
  if (open === 0)
    return { waitsFor: 'dependency', inMs: 0, text: 'All tasks that it depends on have ended; it is released next.' };
  const named = ids.map((id) => `"${id}"`).join(', ');
  const more = open > ids.length ? ` and ${open - ids.length} more` : '';
  const of = dependencies === 1 ? 'a task' : `${open} of ${count(dependencies, 'task')}`;
  return { waitsFor: 'dependency', inMs: null, text: `It waits for ${of} to end: ${named}${more}.` };
};

const explainDelayed = (facts: ExplainFacts, inMs: number): Reason => {
  const { attempts } = facts;
  const held = stopped(facts);
  if (held?.waitsFor === 'pause') return held;
  return attempts === 0
    ? {
        waitsFor: 'delay',
        inMs,
        text: `It joins no batch for another ${formatDuration(inMs)} (notBefore).${ifLate(facts, inMs)}`,
      }
    : {
        waitsFor: 'retry',
        inMs,
        text:
          `After ${count(attempts, 'attempt')} it waits ${formatDuration(inMs)} before it joins a new batch.` +
          ifLate(facts, inMs),
      };
};

const explainReady = (facts: ExplainFacts, queued: QueuedPart): Reason => {
  const { target } = facts;
  const wait = closesIn(facts, queued);
  if (wait !== null) return wait;
  const before = Math.floor(queued.ahead / target.maxItems);
  const behind = before === 0 ? '' : ` behind ${before === 1 ? 'another batch' : `${before} others`} of its target`;
  const crowded = waitForRoom(facts, behind);
  return crowded ?? waitForLeader(facts, `Its batch${behind}`);
};

/**
 * Explains when the batch at the head of the queue closes, while it is neither full nor due. Null:
 * it is due now.
 */
const closesIn = (facts: ExplainFacts, queued: QueuedPart): Reason | null => {
  const { target } = facts;
  const { maxItems, minItems, lingerMs, quietMs } = target;
  if (queued.full || queued.flushed || queued.waiting >= maxItems) return null;
  const lingerInMs = lingerMs - queued.oldestMs;
  const quietInMs = quietMs === null ? Infinity : quietMs - queued.newestMs;
  const enough = queued.waiting >= minItems;
  if (lingerInMs <= 0 || (enough && quietInMs <= 0)) return null;
  const there = `${queued.waiting} of at most ${maxItems} tasks wait in target "${target.key}"`;
  if (enough && quietInMs < lingerInMs)
    return {
      waitsFor: 'quiet',
      inMs: quietInMs,
      text:
        `${there}; the batch closes in ${formatDuration(quietInMs)} if no other arrives ` +
        `(quiet period ${formatDuration(quietMs!)}), or when it is full.${ifCoarse(facts, quietMs!)}`,
    };
  if (quietInMs <= 0)
    return {
      waitsFor: 'size',
      inMs: lingerInMs,
      text:
        `${there} and none has arrived for a while, but a batch below ${minItems} waits for more; ` +
        `it closes in ${formatDuration(lingerInMs)} at the latest (linger ${formatDuration(lingerMs)}).` +
        ifCoarse(facts, lingerMs),
    };
  return {
    waitsFor: 'linger',
    inMs: lingerInMs,
    text:
      `${there}; the batch closes in ${formatDuration(lingerInMs)}, when the oldest of them has waited ` +
      `${formatDuration(lingerMs)} (linger), or when it is full.${ifCoarse(facts, lingerMs)}`,
  };
};

/**
 * Explains a task that is due, but whose target or handler is at a limit of calls or weight in
 * flight. Null: no limit is reached, or no leader has looked.
 */
const waitForRoom = (facts: ExplainFacts, behind: string): Reason | null => {
  const { handler, target, leader } = facts;
  if (!handler.served || leader.state === 'idle' || (leader.expiresInMs ?? 0) <= 0 || isStalled(leader)) return null;
  const of = (name: LimitName): string => bySetting(facts, name);
  const due = `Its batch is due${behind}, but`;
  const heavy = handler.weightPerTarget !== null && target.weight > 0 && target.inFlight < handler.perTarget;
  if (target.busy && heavy)
    return {
      waitsFor: 'weight',
      inMs: null,
      text: `${due} target "${target.key}" has ${target.weight} of ${handler.weightPerTarget} weight in flight${of('maxWeightInFlight.perTarget')}; it is sent when some of that has ended.`,
    };
  if (target.busy)
    return {
      waitsFor: 'slot',
      inMs: null,
      text: `${due} target "${target.key}" has ${count(target.inFlight, 'call')} in flight of at most ${handler.perTarget}${of('concurrency.perTarget')}; it is sent when a call has ended.`,
    };
  if (leader.heldBy === 'weight in flight')
    return {
      waitsFor: 'weight',
      inMs: null,
      text: `${due} the weight in flight of handler "${handler.name}" is at its limit${of('maxWeightInFlight.perHandler')}; it is sent when some of that has ended.`,
    };
  if (leader.heldBy === 'rate' && leader.wakeInMs !== null && leader.wakeInMs > 0)
    return {
      waitsFor: 'hold',
      inMs: leader.wakeInMs,
      text: `${due} the rate limit of handler "${handler.name}" allows no call for ${formatDuration(leader.wakeInMs)}.${ifBegunLate(facts, leader.wakeInMs)}${rateSetting(facts)}`,
    };
  if (leader.heldBy === SHARED_RATE && leader.wakeInMs !== null && leader.wakeInMs > 0)
    return {
      waitsFor: 'hold',
      inMs: leader.wakeInMs,
      text: `${due} ${sharedText(facts)} for ${formatDuration(leader.wakeInMs)}.${ifBegunLate(facts, leader.wakeInMs)}`,
    };
  return leader.heldBy?.startsWith('calls in flight') === true ? waitForCalls(facts, leader.heldBy, behind) : null;
};

/**
 * Explains a task whose leader found no free call when it last looked. Calls may have ended since
 * then: in that case the task waits for the leader's next look.
 */
const waitForCalls = (facts: ExplainFacts, heldBy: string, behind: string): Reason => {
  const { handler, leader } = facts;
  const { name, slotsTaken, perHandler } = handler;
  const by = bySetting(facts, 'concurrency.perHandler');
  if (slotsTaken >= perHandler)
    return {
      waitsFor: 'slot',
      inMs: null,
      text: `Its batch is due${behind}, but the calls in flight of handler "${name}" are at their limit (${slotsTaken} of ${perHandler})${by}; it is sent when a call has ended.`,
    };
  const found = `Its batch is due${behind}, but leader "${leader.name}" found no free call of handler "${name}" when it looked last`;
  const now = `${slotsTaken} of ${perHandler} are in flight now`;
  return heldBy === OWN_CALLS || leader.wakeInMs === null
    ? {
        waitsFor: 'slot',
        inMs: null,
        text: `${found} (${now}); it looks again when some of its calls have ended.`,
      }
    : {
        waitsFor: 'slot',
        inMs: Math.max(0, leader.wakeInMs),
        text: `${found} (${now}); it looks again within ${formatDuration(Math.max(0, leader.wakeInMs))}.`,
      };
};
