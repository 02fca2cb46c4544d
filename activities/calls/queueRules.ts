import type { CallOutcome, Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { BATCH_STATES } from '../../workflows/planning/states';
import type { CarriedBatch } from '../../postgres/calls/batch';
import type { Call, HomeRules } from './call';
import { isPlainSuccess, isUnsureWhole } from './decide';
import type { Decision, Door, Half } from './door';
import { IN_PROCESS_MS } from './putOff';

/** What a settlement means for a batch that a leader formed from its target's queue. */
export const QUEUE_RULES: HomeRules = {
  holdsTarget: true,

  doorOf(call: Call, outcome: CallOutcome): Door {
    const recovers = isPlainSuccess(call, outcome);
    // The first half of a split decides about the other one: not in passing.
    if (recovers && call.batch.depth !== 1) return { to: 'share', outcome };
    return { to: 'conclude', outcome, recovers };
  },

  siblingOf({ depth }: CarriedBatch, half: Half | null): SettlementContext['sibling'] {
    if (depth !== 1) return null;
    if (half === null || half.state !== BATCH_STATES.open) return 'other';
    return half.refused ? 'refused' : 'pending';
  },

  adjust(settlement: Settlement, call: Call): Decision {
    switch (settlement.kind) {
      case 'wait':
        return { ...settlement, keep: settlement.inPlace && settlement.inMs < IN_PROCESS_MS };
      case 'resend':
        return { ...settlement, keep: settlement.inMs < IN_PROCESS_MS };
      case 'halt':
        return { ...settlement, dissolves: !isUnsureWhole(call) };
      default:
        return settlement;
    }
  },
};
