import type { CallOutcome } from '../workflows/planning/calls/plans';
import { acceptedOutcome, closable } from './call';
import { withinDeadline } from './deadline';
import type { ResultSink } from './results';
import { readResults } from './results';
import { cutText, describeThrown, show } from './text';
import type { Handler } from './types';
import type { Batch, CallContext, ReconcileAnswer, Results } from './contract';

/**
 * The looked-up outcome of a batch whose outcome was unknown. Never `later`, `rejected` or
 * `halted`: those say that nothing was applied, which a failed look-up cannot know, and sending
 * again because of one could send twice. A failed look-up is `unsure`.
 */
export type ReconcileOutcome =
  | Extract<CallOutcome, { kind: 'results' | 'accepted' | 'unknown' }>
  /** Valid only if the call is at least `absentAfterMs` old: the caller knows its age. */
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
 * Looks up an earlier call of this batch, bounded like a call; never throws. Without `reconcile`:
 * unsure.
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
      const answer = await reconcile(batch, { signal, idempotencyKey: context.idempotencyKey, deadline });
      return await readAnswer(answer, batch, guarded);
    });
  } catch (thrown) {
    return { kind: 'unsure', error: cutText(`the look-up failed: ${describeThrown(thrown)}`) };
  } finally {
    guarded.close();
  }
}
