import type { Bounds } from './deadline';
import { withinDeadline } from './deadline';
import { cutText, describeThrown } from './text';
import { thrownOutcome } from './thrown';
import type { CallLog } from './contract';
import type { Handler } from './types';

/** The downstream's answer when it was asked to stop an accepted batch. */
export type CancelOutcome =
  | { kind: 'confirmed' }
  /** The batch had ended before, or the downstream no longer knows it. */
  | { kind: 'late'; error: string }
  | { kind: 'refused'; error: string }
  /** The downstream has to be asked again. */
  | { kind: 'unanswered'; error: string; retryAfterMs?: number }
  | { kind: 'unsupported' };

/**
 * Asks the downstream to stop an accepted batch, within the same limits as a call. Never throws.
 */
export async function cancelReference<P>(
  handler: Handler<P>,
  reference: string,
  bounds: Bounds & { readonly log: CallLog },
): Promise<CancelOutcome> {
  const { cancel } = handler;
  if (cancel === undefined) return { kind: 'unsupported' };
  try {
    const answer: unknown = await withinDeadline(
      bounds,
      handler.timeoutMs,
      async (signal) => await cancel(reference, { signal, log: bounds.log }),
    );
    return readAnswer(answer);
  } catch (thrown) {
    const outcome = thrownOutcome(thrown);
    if (outcome.kind === 'rejected') return { kind: 'refused', error: outcome.error };
    // A refused credential may concern this call alone, so it pauses nothing, and is shown with the
    // batch.
    if (outcome.kind === 'later')
      return {
        kind: 'unanswered',
        error: outcome.error,
        ...(outcome.retryAfterMs === undefined ? {} : { retryAfterMs: outcome.retryAfterMs }),
      };
    return { kind: 'unanswered', error: outcome.kind === 'halted' ? outcome.error : describeThrown(thrown) };
  }
}

const readAnswer = (answer: unknown): CancelOutcome => {
  const { status, error } = (answer ?? {}) as Record<string, unknown>;
  const why = typeof error === 'string' && error !== '' ? cutText(error) : undefined;
  if (status === 'late') return { kind: 'late', error: why ?? 'the downstream had already ended it' };
  if (status === 'refused') return { kind: 'refused', error: why ?? 'the downstream gave no reason' };
  return { kind: 'confirmed' };
};
