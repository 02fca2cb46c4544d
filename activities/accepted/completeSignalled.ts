import { ApplicationFailure, Context } from '@temporalio/activity';
import type { CompletionSignal, MonitorInput, SignalledCompletion } from '../../workflows/definitions';
import { whyUnreadable } from '../../workflows/planning/unreadable';
import type { CompletionEnd } from './complete';
import { completeAccepted, ringCompleted } from './complete';
import type { ActivityDeps } from '../deps';
import { cutText } from '../../handlers/text';

/** Of one signal: a history keeps it twice, and a server refuses 2 MB. */
const RESULTS_MAX = 1_000;
const BYTES_MAX = 1_000_000;
/**
 * Told too early: tried again after so long, ten minutes in all, longer than a call. Then it is
 * given up; the batch is asked about as before.
 */
const EARLY_TIMES = 70;
const earlyDelayMs = (attempt: number): number => Math.min(10_000, attempt * 500);

/**
 * A completion that came to the monitor by signal (H7). Nobody waits for the answer: what is
 * refused is logged, and stands in the history.
 */
export const completeSignalled = async (
  deps: ActivityDeps,
  { handler: name, told }: MonitorInput & { told: CompletionSignal },
): Promise<SignalledCompletion> => {
  const handler = deps.handlers.get(name);
  if (handler === undefined)
    throw ApplicationFailure.create({
      type: 'UnknownHandler',
      message: `this worker has no handler ${name}; it has ${[...deps.handlers.keys()].join(', ')}`,
    });
  const end = unread(told) ?? tooLarge(told) ?? (await completeAccepted(deps, handler, told));
  const { attempt } = Context.current().info;
  if (end.kind === 'later' && attempt < EARLY_TIMES)
    throw ApplicationFailure.create({
      type: 'CompletionTooEarly',
      message: end.error,
      category: 'BENIGN',
      nextRetryDelay: earlyDelayMs(attempt),
    });
  if (end.kind === 'completed') {
    await ringCompleted(deps, end.rings);
    return { kind: end.kind, batch: end.batch, state: end.state, repeated: end.repeated };
  }
  const answer = refusalOf(end);
  const { reference, batchId } = told ?? {};
  deps.log.warn({ handler: name, reference, batch: batchId, ...answer }, 'a completion by signal was refused');
  return answer;
};

const unread = (told: CompletionSignal): CompletionEnd | null => {
  const why = whyUnreadable(told);
  return why === null
    ? null
    : {
        kind: 'unreadable',
        field: 'completion',
        message: `expected plain JSON (json/plain), got what cannot be read here: ${cutText(why, 500)}`,
      };
};

const tooLarge = (told: CompletionSignal): CompletionEnd | null => {
  const results = Array.isArray(told?.results) ? told.results.length : 0;
  const bytes = Buffer.byteLength(JSON.stringify(told) ?? '');
  const remedy = 'use client.complete or the HTTP callback for more';
  if (results > RESULTS_MAX)
    return {
      kind: 'unreadable',
      field: 'results',
      message: `expected at most ${RESULTS_MAX} by signal, got ${results}; ${remedy}`,
    };
  if (bytes > BYTES_MAX)
    return {
      kind: 'unreadable',
      field: 'results',
      message: `expected at most ${BYTES_MAX} bytes by signal, got ${bytes}; ${remedy}`,
    };
  return null;
};

const refusalOf = (end: Exclude<CompletionEnd, { kind: 'completed' }>): SignalledCompletion => {
  switch (end.kind) {
    case 'stale':
      return { kind: end.kind, batch: end.batch, state: end.state, error: end.error };
    case 'unreadable':
      return { kind: end.kind, error: `${end.field}: ${end.message}` };
    case 'later':
      return { kind: end.kind, error: end.error };
    case 'unknown-batch':
    case 'several':
      return { kind: end.kind };
  }
};
