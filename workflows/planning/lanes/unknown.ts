/**
 * How often an unknown outcome is looked up before the batch is parked, and how many milliseconds
 * lie between two look-ups: the defaults of a handler's `lane`.
 */
export const LOOK_UPS_MAX = 5;
export const LOOK_UP_AGAIN_MS = 2_000;

/** What is known about a batch of unknown outcome. */
export interface UnknownFacts {
  /**
   * A batch that is sent twice under the same key has one effect, and the downstream still
   * remembers the key.
   */
  idempotent: boolean;
  /** The handler can look the batch up. */
  canReconcile: boolean;
  /**
   * The answer of the look-up; null: the batch was not looked up in this turn. An `absent` here can
   * be trusted, since `absentAfterMs` has passed.
   */
  found: 'done' | 'accepted' | 'absent' | 'unsure' | null;
  /** How many look-ups had no clear answer, including this one. */
  lookUps: number;
  lookUpsMax?: number;
  lookUpAgainMs?: number;
}

export type UnknownDecision =
  | { kind: 'look-up' }
  /** Settle the batch by what was found: committed or invalid, with its receipts. */
  | { kind: 'settle' }
  /** The downstream has the batch: it becomes `pending`, and is polled again. */
  | { kind: 'pending' }
  /** The batch becomes `unsubmitted`, at its old place, which is the front of its lane. */
  | { kind: 'unsubmitted'; because: 'absent' | 'idempotent' }
  /** The outcome is still unknown: look it up again after `inMs`. */
  | { kind: 'wait'; inMs: number }
  /** The batch becomes `parked`: its lane halts with this reason, for an operator. */
  | { kind: 'park'; reason: string };

/**
 * Decides what happens to a batch of unknown outcome. It is looked up first, if the handler can; it
 * is sent again only if it is absent or idempotent; otherwise it is left to an operator. It is
 * never sent again blindly.
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
