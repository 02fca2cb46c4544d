import type { CarriedBatch } from '../../postgres/calls/batch';
import type { CallOutcome, Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { decideSettlement } from '../../workflows/planning/calls/settlement';
import { nextTry } from '../../workflows/planning/lanes/tries';
import { decideUnknown } from '../../workflows/planning/lanes/unknown';
import { BATCH_STATES } from '../../workflows/planning/states';
import type { Call, StandingRules } from '../calls/call';
import { isPlainSuccess, settlementContext } from '../calls/decide';
import type { Decision, Door, Half, LookUps, PlainOutcome } from '../calls/door';

/** What a settlement means to a batch in a lane. */
export const LANE_RULES: StandingRules = {
  holdsTarget: false,

  doorOf(call: Call, outcome: CallOutcome, known: LookUps): Door {
    if (outcome.kind === 'unknown') return doorOfUnknown(call, outcome, known);
    const plain = plainOf(call, outcome);
    if (plain !== null) return { to: 'share', outcome: plain };
    return { to: 'conclude', outcome, recovers: isPlainSuccess(call, outcome) };
  },

  /**
   * "Both halves of the first split are refused: it is not a poison task" (H4), in a lane. There a
   * half must not be asked before all of the one before it was applied, so its first two tasks are
   * the halves that tell: the first one refused alone waits (status refused, which blocks nothing,
   * since it was not applied); is the second refused alone too, the handler is paused and both are
   * as if they had not been sent. In a lane that halts on an invalid batch the halt does that.
   */
  siblingOf({ depth }: CarriedBatch, half: Half | null): SettlementContext['sibling'] {
    if (depth < 1) return null;
    if (half === null || half.state !== BATCH_STATES.open) return 'other';
    return half.refused ? 'refused' : half.leads === true ? 'pending' : 'other';
  },

  /**
   * A lane waits otherwise than a target: its own short waits, since everything behind its head
   * waits too; as long as asked, where asked. Nothing of it waits in its submission, and it keeps
   * its place.
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

/** Applied or accepted, and nothing else to say. */
const plainOf = (call: Call, outcome: CallOutcome): PlainOutcome | null => {
  // A deadline is counted, a completion noted, a refused half decided with it: not in passing.
  if (call.overdue === true || call.completion !== undefined) return null;
  if (outcome.kind === 'accepted') return outcome;
  if (!isPlainSuccess(call, outcome)) return null;
  return call.batch.depth === 0 && call.handler.distinctBy === undefined ? outcome : null;
};

/**
 * C28 for a batch of unknown outcome, after its look-up: sent again where that is safe, looked up
 * some more times while the downstream is unsure (`lane.lookUps`), then parked with its reason,
 * which halts the lane. Never sent blindly.
 */
const doorOfUnknown = (call: Call, outcome: Extract<CallOutcome, { kind: 'unknown' }>, known: LookUps): Door => {
  const conclude = { to: 'conclude', outcome, recovers: false } as const;
  if (call.park !== undefined) return { ...conclude, park: call.park };
  const { lane, reconcile } = call.handler;
  const canReconcile = reconcile !== undefined;
  // What made it unknown says more than that it still is.
  const reason = known.lookUps > 0 ? (known.error ?? outcome.error) : outcome.error;
  const decision = decideUnknown({
    // What its handler's policy makes of it; the key's window and the attempts left are in it.
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
