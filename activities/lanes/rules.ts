import type { CarriedBatch } from '../../postgres/calls/batch';
import type { CallOutcome, Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { decideSettlement } from '../../workflows/planning/calls/settlement';
import { nextTry } from '../../workflows/planning/lanes/tries';
import { decideUnknown } from '../../workflows/planning/lanes/unknown';
import { BATCH_STATES } from '../../workflows/planning/states';
import type { Call, HomeRules } from '../calls/call';
import { isPlainSuccess, settlementContext } from '../calls/decide';
import type { Decision, Door, Half, LookUps, PlainOutcome } from '../calls/door';

/** What a settlement means for a lane batch. */
export const LANE_RULES: HomeRules = {
  holdsTarget: false,

  doorOf(call: Call, outcome: CallOutcome, known: LookUps): Door {
    if (outcome.kind === 'unknown') return doorOfUnknown(call, outcome, known);
    const plain = plainOf(call, outcome);
    if (plain !== null) return { to: 'share', outcome: plain };
    return { to: 'conclude', outcome, recovers: isPlainSuccess(call, outcome) };
  },

  /**
   * Says when two refused halves of a first split are not a poison task, in a lane. There a half
   * must not be sent before all of the one before it was applied, so its first two tasks are the
   * halves that decide: the first one that is refused alone waits (status refused, which blocks
   * nothing, since it was not applied); if the second is refused alone too, the handler is paused
   * and both are as if they had not been sent. In a lane that halts on an invalid batch the halt
   * does that.
   */
  siblingOf({ depth }: CarriedBatch, half: Half | null): SettlementContext['sibling'] {
    if (depth < 1) return null;
    if (half === null || half.state !== BATCH_STATES.open) return 'other';
    return half.refused ? 'refused' : half.leads === true ? 'pending' : 'other';
  },

  /**
   * Adjusts a settlement to a lane, which waits otherwise than a target: by its own short waits,
   * since everything behind its head waits too; as long as the downstream asked, if it did. No
   * batch of it waits in its dispatch, and the batch keeps its place.
   */
  adjust(settlement: Settlement, { batch }: Call, outcome: CallOutcome): Decision {
    switch (settlement.kind) {
      case 'wait': {
        const asked = outcome.kind === 'later' ? (outcome.retryAfterMs ?? 0) : 0;
        const { inMs } = nextTry(batch.refusals + 1, asked);
        const hold = settlement.hold === 'handler' ? 'handler' : 'lane';
        return { ...settlement, inPlace: false, inMs, keep: false, hold };
      }
      case 'resend':
        return { ...settlement, keep: false };
      case 'halt':
        return { ...settlement, dissolves: false };
      default:
        return settlement;
    }
  },
};

/** Returns the outcome if it is applied or accepted, and nothing else is to be written. */
const plainOf = (call: Call, outcome: CallOutcome): PlainOutcome | null => {
  // Counting a deadline, recording a completion or deciding a refused half needs the full
  // settlement.
  if (call.overdue === true || call.completion !== undefined) return null;
  if (outcome.kind === 'accepted') return outcome;
  if (!isPlainSuccess(call, outcome)) return null;
  return call.batch.depth === 0 && call.handler.distinctBy === undefined ? outcome : null;
};

/**
 * Decides about a batch of unknown outcome after its look-up: sent again where that is safe, looked
 * up some more times while the downstream is unsure (`lane.lookUps`), then parked with its reason,
 * which halts the lane. Never sent blindly.
 */
const doorOfUnknown = (call: Call, outcome: Extract<CallOutcome, { kind: 'unknown' }>, known: LookUps): Door => {
  const conclude = { to: 'conclude', outcome, recovers: false } as const;
  if (call.park !== undefined) return { ...conclude, park: call.park };
  const { lane, reconcile } = call.handler;
  const canReconcile = reconcile !== undefined;
  // Keep the original error; "still unknown" adds nothing.
  const reason = known.lookUps > 0 ? (known.error ?? outcome.error) : outcome.error;
  const decision = decideUnknown({
    // Apply the handler's policy, including the key's window and the remaining attempts.
    idempotent: decideSettlement(outcome, settlementContext(call, null)).kind !== 'park',
    canReconcile,
    found: call.absent ? 'absent' : canReconcile ? 'unsure' : null,
    lookUps: known.lookUps + 1,
    lookUpsMax: lane.lookUps,
    lookUpAgainMs: lane.lookUpEveryMs,
  });
  if (decision.kind === 'wait') return { to: 'lookAgain', look: { inMs: decision.inMs, counts: true, error: reason } };
  return decision.kind === 'park' ? { ...conclude, park: `${decision.reason} (${reason})` } : conclude;
};
