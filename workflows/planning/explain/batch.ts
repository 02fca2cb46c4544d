import type { BatchPart, ExplainFacts, Reason } from './facts';
import { waitForLeader } from './leader';
import { askedAgain, isRead } from './question';
import { overdueCall, isStalled } from './stalled';
import { formatDuration } from '../duration';
import { because, count, ifLate } from './format';
import { stopped } from './stopped';

/** Explains a task in an open batch: before its call, in a call, or between two calls. */
export const explainBatch = (facts: ExplainFacts): Reason => {
  const { batch } = facts;
  if (batch === null)
    return { waitsFor: null, inMs: null, text: 'It was moving while this was read; explain it again.' };
  const called = batch.attemptEndsInMs !== null;
  if (called && batch.dispatched && batch.attemptEndsInMs! <= 0) return overdueCall(batch, facts.target.key);
  if (called && batch.dispatched)
    return {
      waitsFor: 'call',
      inMs: batch.attemptEndsInMs,
      text: `It is in call ${batch.attempt} of batch ${batch.id} (${count(batch.n, 'task')}) to target "${facts.target.key}", which may take another ${formatDuration(batch.attemptEndsInMs!)}.`,
    };
  if (batch.reference !== null)
    return {
      waitsFor: 'poll',
      inMs: isRead(batch) ? null : batch.pollInMs,
      text: `The downstream accepted batch ${batch.id} as "${batch.reference}"${askedAgain(batch)}.`,
    };
  if (batch.refused)
    return {
      waitsFor: 'call',
      inMs: null,
      text: `Its half of a split batch was refused${because(batch.error)}. Its outcome depends on the other half, which has not ended yet.`,
    };
  const stop = stopped(facts);
  return stop === null
    ? explainWaiting(facts, batch, called)
    : { ...stop, text: `${stop.text}${refusal(stop, batch)}` };
};

/** Returns why its own last call was refused, where its target or handler is held for that. */
const refusal = ({ waitsFor }: Reason, { id, refusals, error }: BatchPart): string =>
  waitsFor === 'hold' && refusals > 0 && error !== null
    ? ` The last call of batch ${id} was refused for now${because(error)}.`
    : '';

/** Explains a batch without a running call: in the store, or carried by a dispatch. */
const explainWaiting = (facts: ExplainFacts, batch: BatchPart, called: boolean): Reason => {
  const waitMs = batch.retryInMs !== null && batch.retryInMs > 0 ? batch.retryInMs : null;
  if (called) {
    const inMs = Math.max(0, batch.retryInMs ?? 0, batch.attemptEndsInMs!);
    const lost = `Call ${batch.attempt} of batch ${batch.id} was started by a process that did not conclude it`;
    if (inMs > 0)
      return {
        waitsFor: 'retry',
        inMs,
        text: `${lost}; its deadline is in ${formatDuration(inMs)}; then it is looked up, sent again, or parked.`,
      };
    return waitForLeader(facts, `${lost}. It`);
  }
  if (waitMs !== null && batch.attempt === 0)
    return {
      waitsFor: 'hold',
      inMs: waitMs,
      text:
        `Batch ${batch.id} starts in ${formatDuration(waitMs)}, when the rate limit lets it.` + ifLate(facts, waitMs),
    };
  if (waitMs !== null)
    return {
      waitsFor: 'retry',
      inMs: waitMs,
      text:
        `Call ${batch.attempt} of batch ${batch.id} ` +
        `${batch.refusals > 0 ? 'was refused for now' : 'had no known outcome'}${because(batch.error)}. ` +
        `The same batch is sent again in ${formatDuration(waitMs)}.${ifLate(facts, waitMs)}`,
    };
  if (!batch.dispatched || isStalled(facts.leader) || !facts.handler.served)
    return waitForLeader(facts, `Batch ${batch.id}`);
  return {
    waitsFor: 'slot',
    inMs: 0,
    text: `Batch ${batch.id} (${count(batch.n, 'task')}) is with a worker and is waiting for a free call.`,
  };
};
