import { sendNothingAgain } from '../../workflows/planning/calls/cancellation';
import type { CallOutcome, Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { decideSettlement } from '../../workflows/planning/calls/settlement';
import type { Handler } from '../../handlers/types';
import type { Call } from './call';
import type { CallEnd, Conclude, Decision, Door, LookUps } from './door';

/** Decides by which door an outcome is written. Pure. */
export const doorOf = (call: Call, outcome: CallEnd, known: LookUps): Door =>
  outcome.kind === 'look-again'
    ? {
        to: 'lookAgain',
        look: { inMs: outcome.inMs, counts: false, error: 'looked up too early to be conclusive' },
      }
    : call.home.rules.doorOf(call, outcome, known);

/**
 * Decides what is written of an outcome, under the locks that fix the rest. Pure except for jitter
 * and the age of the batch.
 */
export const decide = (
  call: Call,
  { outcome, park }: Conclude,
  sibling: SettlementContext['sibling'],
  cancelled: boolean,
): Decision => {
  const decided: Settlement =
    park !== undefined && outcome.kind === 'unknown'
      ? { kind: 'park', error: park }
      : keepUnsureWhole(call, decideSettlement(outcome, settlementContext(call, sibling)));
  const { members, absent } = call;
  const settlement = cancelled ? sendNothingAgain(decided, outcome, { members: members.length, absent }) : decided;
  return call.home.rules.adjust(settlement, call, outcome);
};

export const settlementContext = (call: Call, sibling: SettlementContext['sibling']): SettlementContext => ({
  attempts: call.members.map((member) => member.attempts),
  maxAttempts: call.handler.retry.maxAttempts,
  idempotency: call.handler.idempotency,
  onUnknown: call.absent ? 'resend' : call.handler.onUnknown,
  canReconcile: call.handler.reconcile !== undefined,
  bisect: call.handler.bisect,
  delayed: call.handler.retry.delayed,
  inPlace: call.handler.retry.inPlace,
  sibling,
  refusals: call.batch.refusals,
  ageMs: performance.now() - call.firstCallAtMs,
  random: call.home.random,
});

/**
 * Keeps a batch whole of which an earlier call may have been applied, unless every task has its own
 * key: its parts would be sent under other keys.
 */
const keepUnsureWhole = (call: Call, settlement: Settlement): Settlement =>
  isUnsureWhole(call) && (settlement.kind === 'split' || settlement.kind === 'await-sibling')
    ? {
        kind: 'park',
        error: `refused for its content after a call of unknown outcome, so it was not split: ${settlement.error}`,
      }
    : settlement;

/**
 * An earlier call may have been applied: in a new batch, under a new key, its tasks could be
 * applied twice.
 */
export const isUnsureWhole = ({ batch, handler }: Call): boolean => batch.unsure && !keyedByTask(handler);

/**
 * Says whether every member succeeded, so that back pressure gives back, however the success is
 * written. A completion from outside gives back where it was taken (`complete.ts`).
 */
export const isPlainSuccess = (
  { completion }: Call,
  outcome: CallOutcome,
): outcome is Extract<CallOutcome, { kind: 'results' }> =>
  outcome.kind === 'results' && outcome.deviants.length === 0 && completion === undefined;

const keyedByTask = (handler: Handler): boolean => handler.idempotency !== 'none' && handler.idempotency.by === 'task';
