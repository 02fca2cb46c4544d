import { ApplicationFailure, Context } from '@temporalio/activity';
import type { CompletionSignal, MonitorInput, SignalledCompletion } from '../../workflows/definitions';
import { whyUnreadable } from '../../workflows/planning/unreadable';
import type { CompletionEnd } from './complete';
import { completeAccepted } from './complete';
import type { ActivityDeps } from '../deps';
import { sealError } from '../codec/sealed';
import type { Handler } from '../../handlers/types';
import { cutText } from '../../handlers/text';

/** Most results of one signal: a history keeps it twice, and a server refuses 2 MB. */
const RESULTS_MAX = 1_000;
const BYTES_MAX = 1_000_000;
/**
 * How often a completion that came too early is tried again: for ten minutes in all, longer than a
 * call. Then it is given up, and the batch is polled as before.
 */
const EARLY_TIMES = 70;
const earlyDelayMs = (attempt: number): number => Math.min(10_000, attempt * 500);

/**
 * Processes a completion that reached a workflow of type `completion`, directly or through a
 * monitor. The answer is the workflow's result; a refusal is also logged.
 */
export const completeSignalled = async (
  deps: ActivityDeps,
  { handler: name, told }: MonitorInput & { told: CompletionSignal },
): Promise<SignalledCompletion> => {
  const handler = handlerHere(deps, name);
  const end = await completeReported(deps, handler, told);
  const { attempt } = Context.current().info;
  if (end.kind === 'later' && attempt < EARLY_TIMES)
    throw ApplicationFailure.create({
      type: 'CompletionTooEarly',
      message: end.error,
      category: 'BENIGN',
      nextRetryDelay: earlyDelayMs(attempt),
    });
  return await answer(deps, handler, told, end);
};

/**
 * Takes a completion within the workflow's first task, which saves three messages, if this worker
 * has the handler and the completion has not come too early. Otherwise returns null, and the
 * activity takes it, on a worker with the handler and as often as need be.
 */
export const completeAtOnce = async (
  deps: ActivityDeps,
  { handler: name, told }: MonitorInput & { told: CompletionSignal },
): Promise<SignalledCompletion | null> => {
  const handler = deps.handlers.get(name);
  if (handler === undefined || deps.draining.aborted) return null;
  const end = await completeReported(deps, handler, told).catch((err: unknown) => {
    deps.log.info({ err, handler: name }, 'a completion could not be taken at once: it is tried again');
    return null;
  });
  return end === null || end.kind === 'later' ? null : answer(deps, handler, told, end);
};

/** Returns a handler of this worker, which the caller has checked. */
export const handlerHere = ({ handlers }: Pick<ActivityDeps, 'handlers'>, name: string): Handler => {
  const handler = handlers.get(name);
  if (handler === undefined)
    throw ApplicationFailure.create({
      type: 'UnknownHandler',
      message: `this worker has no handler ${name}; it has ${[...handlers.keys()].join(', ')}`,
    });
  return handler;
};

/** Processes a completion that came through a history. The caller rings. */
export const completeReported = async (
  deps: ActivityDeps,
  handler: Handler,
  told: CompletionSignal,
): Promise<CompletionEnd> => unread(told) ?? tooLarge(told) ?? completeAccepted(deps, handler, told);

const answer = async (
  deps: ActivityDeps,
  handler: Handler,
  told: CompletionSignal,
  end: CompletionEnd,
): Promise<SignalledCompletion> => {
  if (end.kind === 'completed') {
    // Not awaited: the sender waits only for the answer. The sweeper repeats a ring that is lost.
    deps.completionRings.of(handler.name).addBehind(end.rings);
    return { kind: end.kind, batch: end.batch, state: end.state, repeated: end.repeated };
  }
  // What is wrong with results may quote them.
  const isQuoting = end.kind === 'unreadable' && deps.sealer !== null;
  const refusal = refusalOf(isQuoting ? { ...end, message: await sealError(deps.sealer, end.message) } : end);
  const { reference, batchId } = told ?? {};
  deps.log.warn({ handler: handler.name, reference, batch: batchId, ...refusal }, 'a completion by signal was refused');
  return refusal;
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
