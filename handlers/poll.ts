import type { CallOutcome } from '../workflows/planning/calls/plans';
import { closable } from './call';
import type { Bounds } from './deadline';
import { withinDeadline, withinIdle } from './deadline';
import type { Missing, ResultSink } from './results';
import { readResults } from './results';
import { cutText, describeThrown, show } from './text';
import { thrownOutcome } from './thrown';
import type { Handler } from './types';
import type { CallLog, ReferenceStatus, Results } from './contract';

/**
 * Returns the milliseconds between two polls of a batch. Batches of a handler without `status` are
 * completed from outside, so that the first look at them is at the deadline.
 */
export const askEveryMs = ({ status, poll }: Pick<Handler, 'status' | 'poll'>): number =>
  status === undefined ? poll.deadlineMs : poll.everyMs;

const STATUSES: ReadonlySet<unknown> = new Set(['pending', 'done', 'expired', 'failed', 'lost']);

/**
 * The result of one round of `status`. Every kind but `statuses` says nothing about the batches,
 * which are polled again.
 */
export type PollOutcome =
  /** One status per polled reference, in that order. */
  | { kind: 'statuses'; statuses: ReferenceStatus[] }
  | { kind: 'later'; retryAfterMs?: number; error: string }
  /**
   * The handler has to be paused (an expired credential, a wrong URL), or with `scope` only a
   * target.
   */
  | { kind: 'halted'; error: string; scope?: 'target' }
  | { kind: 'failed'; error: string };

/**
 * Returns the statuses in the order of the references. A reference that the answer leaves out, or
 * whose status is unreadable, is still pending, with the reason as its error.
 */
function readStatuses(references: readonly string[], answer: readonly ReferenceStatus[]): ReferenceStatus[] {
  const byReference = new Map<string, ReferenceStatus>();
  for (const status of answer) if (typeof status?.reference === 'string') byReference.set(status.reference, status);
  return references.map((reference): ReferenceStatus => {
    const found = byReference.get(reference);
    if (found === undefined) return { reference, status: 'pending', error: 'the answer did not mention it' };
    if (!STATUSES.has(found.status))
      return { reference, status: 'pending', error: `unreadable status ${show(found.status)}` };
    const error = found.error === undefined ? {} : { error: cutText(String(found.error)) };
    return { reference, status: found.status, ...error };
  });
}

/** Polls many accepted batches at once, within the handler's `timeoutMs`. Never throws. */
export async function pollReferences<P>(
  handler: Handler<P>,
  references: readonly string[],
  bounds: Bounds & { readonly log: CallLog },
): Promise<PollOutcome> {
  const { status } = handler;
  if (status === undefined) return { kind: 'failed', error: `handler "${handler.name}" has no status` };
  try {
    const answer = await withinDeadline(
      bounds,
      handler.timeoutMs,
      async (signal) => await status(references, { signal, log: bounds.log }),
    );
    if (!Array.isArray(answer))
      return { kind: 'failed', error: `unreadable answer: expected an array, got ${show(answer)}` };
    return { kind: 'statuses', statuses: readStatuses(references, answer as ReferenceStatus[]) };
  } catch (thrown) {
    const outcome = thrownOutcome(thrown);
    if (outcome.kind === 'later') return { kind: 'later', retryAfterMs: outcome.retryAfterMs, error: outcome.error };
    if (outcome.kind === 'halted') return outcome;
    return { kind: 'failed', error: describeThrown(thrown) };
  }
}

/**
 * The results of a batch that is done, or of the part of an expired batch that is done. `unread`:
 * they could not be read, and are read again.
 */
export type ReferenceOutcome =
  Extract<CallOutcome, { kind: 'results' | 'unknown' }> | { kind: 'unread'; error: string };

/**
 * Streams the results of an accepted batch to the sink. Never throws. Reading a large file may take
 * as long as it takes, but for `poll.idleMs` without a result: a read that hangs would keep its
 * batch, and its place among few, for good. `onResult` is called when a result comes. `missing`
 * says what happens to members without one: `{status: 'retry', error}` for a batch that expired.
 */
export async function readReference<P>(
  handler: Handler<P>,
  reference: string,
  tasks: readonly { readonly id: string }[],
  bounds: Bounds & { readonly log: CallLog; readonly onResult?: () => void },
  sink: ResultSink,
  missing?: Missing,
): Promise<ReferenceOutcome> {
  const { results } = handler;
  if (results === undefined) return { kind: 'unread', error: `handler "${handler.name}" has no results` };
  const guarded = closable(sink);
  try {
    const read = await withinDeadline(bounds, LONGEST_READ_MS, (within) =>
      withinIdle(within, handler.poll.idleMs, 'result (poll.idleMs)', async (signal, restart) => {
        const goesOn = (): void => {
          restart();
          bounds.onResult?.();
        };
        const found = await results(reference, { signal, log: bounds.log });
        goesOn();
        return readResults(noted(found, goesOn), tasks, noting(guarded, goesOn), missing);
      }),
    );
    return read as ReferenceOutcome;
  } catch (thrown) {
    return { kind: 'unread', error: describeThrown(thrown) };
  } finally {
    guarded.close();
  }
}

/** Notes each result of a stream when it comes. */
const noted = (results: Results, goesOn: () => void): Results => {
  if (typeof results !== 'object' || results === null || !(Symbol.asyncIterator in results)) return results;
  return (async function* () {
    for await (const item of results) {
      goesOn();
      yield item;
    }
  })();
};

/** Notes when what the sink had to write is written: the time that takes is not the source's. */
const noting = (sink: ResultSink, goesOn: () => void): ResultSink => ({
  add: (index, result) => sink.add(index, result)?.then(goesOn),
});

/** Milliseconds: longer than reading any file takes, and within the range of timers. */
const LONGEST_READ_MS = 7 * 86_400_000;
