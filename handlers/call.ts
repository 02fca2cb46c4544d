import type { CallOutcome } from '../workflows/planning/calls/plans';
import { Abandoned, endOf, withinDeadline } from './deadline';
import type { ResultSink } from './results';
import { readResults, ResultsInterrupted } from './results';
import { cutText, describeThrown, isStorableText, show } from './text';
import { readableScope, readableWait, thrownOutcome } from './thrown';
import type { Handler } from './types';
import type { Batch, CallContext, Results, SubmitAnswer } from './contract';

/**
 * Returns a sink that refuses results once its call has ended: an abandoned submit may go on
 * yielding them.
 */
export function closable(sink: ResultSink): ResultSink & { close(): void } {
  let open = true;
  return {
    add: (index, result) => {
      if (!open) throw new Abandoned('the call has ended');
      return sink.add(index, result);
    },
    close: () => {
      open = false;
    },
  };
}

/**
 * Returns the outcome of an acceptance: unknown if the reference cannot be stored as it is, since
 * the downstream would not recognize an altered one.
 */
export const acceptedOutcome = (reference: unknown): CallOutcome =>
  isReference(reference)
    ? { kind: 'accepted', reference }
    : { kind: 'unknown', error: `unreadable answer: status 'accepted' needs ${REFERENCE}, got ${show(reference)}` };

const REFERENCE = 'a reference of 1-2,000 bytes of well-formed text without U+0000';

export const isReference = (reference: unknown): reference is string =>
  typeof reference === 'string' &&
  reference !== '' &&
  Buffer.byteLength(reference) <= 2_000 &&
  isStorableText(reference);

async function readAnswer(answer: SubmitAnswer, batch: Batch, sink: ResultSink): Promise<CallOutcome> {
  const { status, results, error, reference, retryAfterMs, scope } = (answer ?? {}) as Record<string, unknown>;
  if (results !== undefined && status === undefined) return await readResults(results as Results, batch.tasks, sink);
  const reason = typeof error === 'string' && error !== '' ? cutText(error) : undefined;
  if (results === undefined && status === 'accepted') return acceptedOutcome(reference);
  if (results === undefined && status === 'later') {
    return {
      kind: 'later',
      retryAfterMs: readableWait(retryAfterMs),
      scope: readableScope(scope),
      error: reason ?? 'the downstream asked to wait',
    };
  }
  if (results === undefined && status === 'rejected')
    return { kind: 'rejected', error: reason ?? 'the downstream refused the call without giving a reason' };
  const expected = "{results}, or a status 'accepted', 'later' or 'rejected'";
  return { kind: 'unknown', error: `unreadable answer: expected ${expected}, got ${show(answer, 500)}` };
}

/**
 * Interprets a thrown error. Before the first result a declared error counts; after it the batch is
 * only partially reported, so that its outcome is unknown.
 */
function interruptedOutcome(thrown: unknown): CallOutcome {
  if (thrown instanceof ResultsInterrupted) {
    if (thrown.side === 'source' && thrown.read === 0) return thrownOutcome(thrown.cause);
    return { kind: 'unknown', error: cutText(thrown.message) };
  }
  return thrownOutcome(thrown);
}

/**
 * Adds to an unknown outcome that the call was aborted, and why, in front of the handler's own
 * error.
 */
function withAbort(outcome: CallOutcome, signal: AbortSignal | undefined): CallOutcome {
  if (outcome.kind !== 'unknown' || signal?.aborted !== true) return outcome;
  const why = describeThrown(signal.reason);
  return outcome.error.includes(why)
    ? outcome
    : { kind: 'unknown', error: cutText(`aborted, ${why}; ${outcome.error}`) };
}

/**
 * Removes the callback's token from errors, since errors are stored and shown, and either side may
 * have echoed the token.
 */
function withoutToken(outcome: CallOutcome, callbackUrl: string | undefined): CallOutcome {
  const token = callbackUrl?.split('/').at(-1);
  if (token === undefined || token === '') return outcome;
  const clean = (text: string) => text.replaceAll(token, '<token>');
  if (outcome.kind === 'accepted') return outcome;
  if (outcome.kind !== 'results') return { ...outcome, error: clean(outcome.error) };
  for (const deviant of outcome.deviants) if (deviant.error !== undefined) deviant.error = clean(deviant.error);
  return outcome;
}

/**
 * Makes one downstream call and returns its outcome. Never throws. The call, including the reading
 * of its results, is aborted at `context.deadline` or after the handler's `timeoutMs`, whichever is
 * first. If it does not react within 100 ms, it is abandoned, and its outcome is unknown. If the
 * signal was aborted or the deadline had passed before the call, nothing is sent and the outcome is
 * `later`. What the handler throws is also passed to `onThrown`. Results go to the sink while they
 * are read, and are void unless the outcome is `results`.
 */
export async function callHandler<P>(
  handler: Handler<P>,
  batch: Batch<P>,
  context: CallContext,
  sink: ResultSink,
  onThrown: (thrown: unknown) => void = () => undefined,
): Promise<CallOutcome> {
  if (context.signal.aborted || endOf(context, handler.timeoutMs, Date.now()) <= Date.now()) {
    const why = context.signal.aborted ? 'the worker was stopping' : 'its deadline had passed before it began';
    return { kind: 'later', retryAfterMs: 0, scope: 'target', error: `not sent: ${why}` };
  }
  const guarded = closable(sink);
  let signal: AbortSignal | undefined;
  try {
    const outcome = await withinDeadline(context, handler.timeoutMs, async (linked, deadline) => {
      signal = linked;
      const answer = await handler.submit(batch, { ...context, signal: linked, deadline });
      return await readAnswer(answer, batch, guarded);
    });
    return withoutToken(outcome, context.callbackUrl);
  } catch (thrown) {
    onThrown(thrown instanceof ResultsInterrupted ? thrown.cause : thrown);
    return withoutToken(withAbort(interruptedOutcome(thrown), signal), context.callbackUrl);
  } finally {
    guarded.close();
  }
}
