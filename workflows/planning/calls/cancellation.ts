import type { CallOutcome, MemberEnd, Settlement, SettlementContext } from './plans';
import { backoffMs } from './retry';

/**
 * The states of the cancellation of a batch that the downstream has accepted. The downstream is
 * asked to stop, and its report on the batch still counts: a task that it has applied ends
 * `succeeded`. Once a caller has asked for the cancellation, no part of the batch is sent again,
 * and tasks that were not applied end `cancelled`.
 *
 *     requested ──▶ confirmed      the downstream agreed to stop; its status says what was done
 *        │  ▲  ├──▶ refused        it does not stop; the batch goes on
 *        └──┘  ├──▶ late           it had ended before, or is no longer known there
 *      no      ├──▶ unsupported    the handler has no `cancel`
 *      answer  └──▶ withdrawn      accepted again under the same reference, and so waited for
 */
export const CANCELLATION_STATES = {
  requested: 0,
  confirmed: 1,
  refused: 2,
  late: 3,
  unsupported: 4,
  withdrawn: 5,
} as const;
export type CancellationState = keyof typeof CANCELLATION_STATES;

/**
 * Why a batch is given up: a caller cancelled it, its deadline passed, or an operator decided its
 * unknown outcome.
 */
export const CANCELLATION_CAUSES = { caller: 0, deadline: 1, decision: 2 } as const;
export type CancellationCause = keyof typeof CANCELLATION_CAUSES;

const RETRY = { baseMs: 1_000, maxMs: 600_000 };

/**
 * Returns how many milliseconds to wait before the downstream is asked again, after `tries` calls
 * without an answer: a second, doubling up to ten minutes. The calls go on for as long as the batch
 * is kept.
 */
export const cancelAgainMs = (tries: number): number => backoffMs(RETRY, Math.max(1, tries));

/**
 * Changes the settlement of a batch that a caller has cancelled, so that no part of it is sent
 * again. `absent`: a look-up found that the downstream does not have the batch.
 */
export const sendNothingAgain = (
  settlement: Settlement,
  outcome: CallOutcome,
  { members, absent }: { members: number; absent: boolean },
): Settlement => {
  const allCancelled = (error: string): Settlement => ({
    kind: 'finish',
    state: 'failed',
    error,
    ends: Array.from({ length: members }, (_, index): MemberEnd => ({ index, to: 'cancelled', error })),
    unknown: 'park',
  });
  // Refused as a whole, or absent from the downstream: nothing of the batch was applied.
  if (outcome.kind === 'rejected') return allCancelled(outcome.error);
  if (outcome.kind === 'unknown') return absent ? allCancelled(outcome.error) : { kind: 'park', error: outcome.error };
  if (settlement.kind !== 'finish') return settlement;
  const ends = settlement.ends.map((end): MemberEnd =>
    // Either way the downstream has not applied the member. It would be `dead` only for lack of
    // another attempt, and none is made after a cancellation.
    end.to === 'retry' || end.to === 'dead' ? { index: end.index, to: 'cancelled', error: end.error } : end,
  );
  return { ...settlement, ends, unknown: 'park' };
};

/**
 * Says whether Muster gives the batch up under the reference of its acceptance, so that the
 * downstream has to be asked to stop it. That is not so if the batch is sent again with an
 * idempotency key, since the downstream may take it for the same batch; nor if it is absent there,
 * since then there is nothing to stop.
 */
export const givesUp = (
  settlement: Settlement,
  facts: { overdue: boolean; absent: boolean; idempotency: SettlementContext['idempotency'] },
): boolean => {
  if (!facts.overdue || facts.absent) return false;
  if (settlement.kind === 'park') return true;
  const sentAgain = settlement.kind === 'resend' || (settlement.kind === 'finish' && settlement.unknown === 'resend');
  return sentAgain && facts.idempotency === 'none';
};

export interface CancellationFacts {
  state: CancellationState;
  cause: CancellationCause;
  tries: number;
  error: string | null;
  nextInMs: number | null;
}

const CAUSE_WORDS: Record<CancellationCause, string> = {
  caller: 'on request',
  deadline: 'since its deadline had passed',
  decision: 'since its outcome was decided by hand',
};

/** Returns a sentence for `explain`, with a space in front. Empty: the batch was not cancelled. */
export const cancellationText = (cancellation: CancellationFacts | null): string => {
  if (cancellation === null) return '';
  const { state, cause, tries, error, nextInMs } = cancellation;
  const why = error === null ? '' : `: ${error}`;
  const again = nextInMs === null ? '' : `, again in ${Math.max(0, Math.ceil(nextInMs))} ms`;
  switch (state) {
    case 'requested':
      return tries === 0
        ? ` The downstream is about to be asked to cancel it, ${CAUSE_WORDS[cause]}.`
        : ` The downstream was asked to cancel it, ${CAUSE_WORDS[cause]}, and has not answered (${tries} ${tries === 1 ? 'call' : 'calls'}${again})${why}.`;
    case 'confirmed':
      return ` The downstream agreed to cancel it, ${CAUSE_WORDS[cause]}.`;
    case 'refused':
      return ` The downstream refused to cancel it${why}.`;
    case 'late':
      return ` Its cancellation came too late${why}.`;
    case 'unsupported':
      return ' It was given up, and its handler has no `cancel`: the downstream was not told.';
    case 'withdrawn':
      return ' Its cancellation was withdrawn: the downstream accepted it again under the same reference.';
  }
};

/**
 * Returns the state to show. A cancellation by a caller that the downstream confirmed, but that
 * found the whole batch applied, is shown as `late`.
 */
export const shownCancellation = (
  state: CancellationState,
  { cause, applied }: { cause: CancellationCause; applied: boolean },
): CancellationState => (state === 'confirmed' && cause === 'caller' && applied ? 'late' : state);
