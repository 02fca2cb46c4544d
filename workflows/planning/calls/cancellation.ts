import type { CallOutcome, MemberEnd, Settlement, SettlementContext } from './plans';
import { backoffMs } from './retry';

/**
 * The states of a cancellation of a batch that the downstream has accepted. The downstream is asked
 * to stop, and its report on the batch still counts: applied is applied. Once a caller has asked,
 * nothing of the batch is sent again; what was not applied ends `cancelled`.
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
 * Why a batch is given up: a caller asked for it, its deadline passed, or an operator decided about
 * its unknown outcome.
 */
export const CANCELLATION_CAUSES = { caller: 0, deadline: 1, decision: 2 } as const;
export type CancellationCause = keyof typeof CANCELLATION_CAUSES;

const RETRY = { baseMs: 1_000, maxMs: 600_000 };

/**
 * Returns how long to wait after this many calls without an answer: a second, doubling up to ten
 * minutes, for as long as the batch is kept.
 */
export const cancelAgainMs = (tries: number): number => backoffMs(RETRY, Math.max(1, tries));

/** Replaces what would send parts of the batch again after a caller has cancelled it. */
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
  // Refused as a whole, or not there: nothing of it was applied.
  if (outcome.kind === 'rejected') return allCancelled(outcome.error);
  if (outcome.kind === 'unknown') return absent ? allCancelled(outcome.error) : { kind: 'park', error: outcome.error };
  if (settlement.kind !== 'finish') return settlement;
  const ends = settlement.ends.map((end): MemberEnd =>
    // Both mean that the downstream has not done the member: `dead` only for lack of another
    // attempt, which is not made now anyway.
    end.to === 'retry' || end.to === 'dead' ? { index: end.index, to: 'cancelled', error: end.error } : end,
  );
  return { ...settlement, ends, unknown: 'park' };
};

/**
 * Says whether the batch is given up under the reference that it was accepted under, so that the
 * downstream is to stop it. If it is sent again under a key that the downstream honours, it may be
 * the same batch there; if it is absent, there is nothing to stop.
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

/** Returns a sentence for `explain`, with a space before it; empty: the batch was not cancelled. */
export const cancellationText = (cancellation: CancellationFacts | null): string => {
  if (cancellation === null) return '';
  const { state, cause, tries, error, nextInMs } = cancellation;
  const why = error === null ? '' : `: ${error}`;
  const again = nextInMs === null ? '' : `, again in ${Math.max(0, Math.ceil(nextInMs))} ms`;
  switch (state) {
    case 'requested':
      return tries === 0
        ? ` The downstream is about to be asked to cancel it, ${CAUSE_WORDS[cause]}.`
        : ` The downstream was asked to cancel it, ${CAUSE_WORDS[cause]}, and has not answered (${tries} calls${again})${why}.`;
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
 * Returns the state to show: a cancellation that was confirmed although the batch was applied in
 * full came too late.
 */
export const shownCancellation = (
  state: CancellationState,
  { cause, applied }: { cause: CancellationCause; applied: boolean },
): CancellationState => (state === 'confirmed' && cause === 'caller' && applied ? 'late' : state);
