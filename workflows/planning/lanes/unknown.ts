/**
 * How often an unknown outcome is looked up before its lane is parked, and how long between: the
 * defaults of a handler's `lane`.
 */
export const LOOK_UPS_MAX = 5;
export const LOOK_UP_AGAIN_MS = 2_000;

/** What is known about a batch of unknown outcome. */
export interface UnknownFacts {
  /**
   * The same batch id sent twice has one effect, and the receiver's memory of it has not run out.
   */
  idempotent: boolean;
  /** The handler can look the batch up. */
  canReconcile: boolean;
  /**
   * Answer of the look-up; null: not asked in this turn. `absent` may be trusted already
   * (`absentAfterMs`).
   */
  found: 'done' | 'accepted' | 'absent' | 'unsure' | null;
  /** Look-ups without a clear answer, this one included. */
  lookUps: number;
  lookUpsMax?: number;
  lookUpAgainMs?: number;
}

export type UnknownDecision =
  | { kind: 'look-up' }
  /** Settle by what was found: committed or invalid, with its receipts. */
  | { kind: 'settle' }
  /** The downstream has it: status pending, polled on. */
  | { kind: 'pending' }
  /** Status unsubmitted, at its old place, which is the front of its lane. */
  | { kind: 'unsubmitted'; because: 'absent' | 'idempotent' }
  /** Still unknown; look again then. */
  | { kind: 'wait'; inMs: number }
  /** Status parked; the lane halts with this reason for an operator. */
  | { kind: 'park'; reason: string };

/**
 * Decides about an unknown outcome: looked up first, if that is possible; sent again only if absent
 * or idempotent; otherwise left to an operator. Never sent blindly.
 */
export const decideUnknown = (facts: UnknownFacts): UnknownDecision => {
  const { idempotent, canReconcile, found, lookUps } = facts;
  if (found === null && canReconcile) return { kind: 'look-up' };
  switch (found) {
    case 'done':
      return { kind: 'settle' };
    case 'accepted':
      return { kind: 'pending' };
    case 'absent':
      return { kind: 'unsubmitted', because: 'absent' };
    case 'unsure':
    case null:
      if (idempotent) return { kind: 'unsubmitted', because: 'idempotent' };
      if (canReconcile && lookUps < (facts.lookUpsMax ?? LOOK_UPS_MAX))
        return { kind: 'wait', inMs: facts.lookUpAgainMs ?? LOOK_UP_AGAIN_MS };
      return {
        kind: 'park',
        reason: canReconcile
          ? `unknown: ${lookUps} look-ups did not establish whether it was applied, and sending it again might apply it twice`
          : 'unknown: it may have been applied; the handler can neither look it up nor send it again safely',
      };
  }
};
