import { cancellationText } from '../calls/cancellation';
import { explainBatch } from './batch';
import type { BatchPart, ExplainFacts, Explanation, Reason } from './facts';
import { explainQueued } from './queued';
import { because, count } from './format';
import { isTerminal } from '../states';

export type { ExplainFacts, Explanation, WaitsFor } from './facts';

/**
 * Explains where a task is, what it waits for, and its earliest next step, from facts that were
 * read by one statement. Pure.
 */
export const explain = (facts: ExplainFacts): Explanation => {
  const { waitsFor, inMs, text } = reasonOf(facts);
  const nextStepInMs = inMs === null ? null : Math.max(0, Math.ceil(inMs));
  return {
    id: facts.id,
    state: facts.state,
    text: `${text}${expiryText(facts)}${explainTrouble(facts)}`,
    waitsFor,
    nextStepInMs,
    facts,
  };
};

/** Says when a task expires that waits in no batch. Empty: never. */
const expiryText = ({ state, expiresAt }: ExplainFacts): string =>
  state !== 'created' || expiresAt == null ? '' : ` It expires at ${expiresAt} if it has not been sent by then.`;

/** Most stack frames in the text; the facts have more. */
const FRAMES = 3;

/**
 * Returns what else there is to say about the task's batch: its cancellation, and the stack of the
 * handler's error. Empty: nothing.
 */
export const explainTrouble = (facts: ExplainFacts): string =>
  isTerminal(facts.state) || facts.batch === null
    ? ''
    : `${cancellationText(facts.batch.cancellation)}${thrownAt(facts.batch)}`;

const thrownAt = ({ stack }: BatchPart): string => {
  if (stack === null) return '';
  return `\nThe handler threw:\n${stack
    .split('\n')
    .slice(0, FRAMES)
    .map((frame) => `  ${frame}`)
    .join('\n')}`;
};

const reasonOf = (facts: ExplainFacts): Reason => {
  switch (facts.state) {
    case 'created':
      return explainQueued(facts);
    case 'batched':
    case 'in-progress':
      return explainBatch(facts);
    case 'unknown':
      return {
        waitsFor: 'resolve',
        inMs: null,
        text: `Its batch${numberOf(facts)} was sent, and the outcome is unknown${because(facts.batch?.error ?? null)}. It is parked: resolve it manually, or redrive it.`,
      };
    default:
      return { waitsFor: null, inMs: null, text: ended(facts) };
  }
};

const ended = ({ state, attempts, error }: ExplainFacts): string => {
  const after = attempts === 0 ? 'without a counted attempt' : `after ${count(attempts, 'counted attempt')}`;
  switch (state) {
    case 'succeeded':
      return `Succeeded ${after}.`;
    case 'failed':
      return `Failed permanently ${after}${because(error)}. It can be redriven.`;
    case 'dead':
      return `Dead: its attempts are used up (${attempts})${because(error)}. It can be redriven.`;
    default:
      return error === null
        ? 'Cancelled before it reached the downstream.'
        : `Cancelled after the downstream had accepted it${because(error)}.`;
  }
};

const numberOf = ({ batch }: ExplainFacts): string => (batch === null ? '' : ` ${batch.id}`);
