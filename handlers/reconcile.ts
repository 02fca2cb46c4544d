import type { CallOutcome } from '../workflows/planning/calls/plans';
import { acceptedOutcome, closable } from './call';
import { withinDeadline } from './deadline';
import type { ResultSink } from './results';
import { readResults } from './results';
import { cutText, describeThrown, show } from './text';
import type { Handler } from './types';
import type { Batch, CallContext, ReconcileAnswer, Results } from './contract';

/**
 * What a look-up has found about a call of unknown outcome. It is never `later`, `rejected` or
 * `halted`: those say that nothing was applied, which a failed look-up cannot know, and sending the
 * batch again because of one could apply it twice. A failed look-up is `unsure`.
 */
export type ReconcileOutcome =
  | Extract<CallOutcome, { kind: 'results' | 'accepted' | 'unknown' }>
  /** Counts only if the call is at least `absentAfterMs` old, which the caller checks. */
  | { kind: 'absent' }
  | { kind: 'unsure'; error?: string };

async function readAnswer(answer: ReconcileAnswer, batch: Batch, sink: ResultSink): Promise<ReconcileOutcome> {
  const { status, results, reference } = (answer ?? {}) as Record<string, unknown>;
  switch (status) {
    case 'done':
      return (await readResults(results as Results, batch.tasks, sink)) as ReconcileOutcome;
    case 'accepted':
      return acceptedOutcome(reference) as ReconcileOutcome;
    case 'absent':
      return { kind: 'absent' };
    case 'unsure':
      return { kind: 'unsure' };
    default:
      return {
        kind: 'unsure',
        error: `unreadable answer: expected the status done, accepted, absent or unsure, got ${show(answer, 500)}`,
      };
  }
}

/**
 * Looks up an earlier call of this batch, within the same limits as a call. Never throws. Without
 * `reconcile` the outcome is `unsure`.
 */
export async function reconcileOutcome<P>(
  handler: Handler<P>,
  batch: Batch<P>,
  context: CallContext,
  sink: ResultSink,
): Promise<ReconcileOutcome> {
  const { reconcile } = handler;
  if (reconcile === undefined) return { kind: 'unsure', error: `handler "${handler.name}" has no reconcile` };
  if (context.signal.aborted) return { kind: 'unsure', error: 'not looked up: the worker was stopping' };
  const guarded = closable(sink);
  try {
    return await withinDeadline(context, handler.timeoutMs, async (signal, deadline) => {
      const { idempotencyKey, log } = context;
      const answer = await reconcile(batch, { signal, idempotencyKey, deadline, log });
      return await readAnswer(answer, batch, guarded);
    });
  } catch (thrown) {
    return { kind: 'unsure', error: cutText(`the look-up failed: ${describeThrown(thrown)}`) };
  } finally {
    guarded.close();
  }
}
