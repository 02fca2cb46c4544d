import type { CallOutcome, Deviant, MemberEnd, Settlement, SettlementContext } from './plans';
import { backoffMs, inPlaceMs, IN_PLACE_BELOW_MS, withFullJitter } from './retry';

/**
 * Decides what happens to a batch after one call, one function per outcome; docs/handlers has the
 * table of outcomes. `context.attempts` has one entry per member, in order. Throws a plain error on
 * deviants that are not members: the answer should have been checked before, so that is a fault of
 * ours.
 */
export function decideSettlement(outcome: CallOutcome, context: SettlementContext): Settlement {
  switch (outcome.kind) {
    case 'results':
      return settleResults(outcome.deviants, context);
    case 'accepted':
      // In-progress until the downstream is done.
      return { kind: 'accept', reference: outcome.reference };
    case 'later':
      return settleLater(outcome, context);
    case 'rejected':
      return settleRejected(outcome.error, context);
    case 'halted':
      // A refused credential or address is no fault of the tasks.
      return { kind: 'halt', reason: outcome.error, ...(outcome.scope === undefined ? {} : { scope: outcome.scope }) };
    case 'unknown':
      return settleUnknown(outcome.error, context);
    default:
      return neverHappens(outcome);
  }
}

/**
 * Says whether the call costs its members an attempt. Back pressure and a paused handler never do;
 * a call that is accepted or waits for its sibling is counted by the settlement that follows it.
 */
export function countsAttempt(kind: Settlement['kind']): boolean {
  return kind === 'finish' || kind === 'split' || kind === 'resend' || kind === 'park';
}

/**
 * Settles results: members that are `ok` share the batch's end, each other one has its own. If none
 * is `ok`, the batch is `failed`.
 */
function settleResults(deviants: readonly Deviant[], context: SettlementContext): Settlement {
  checkMembers(deviants, context.attempts.length);
  const state = deviants.length === context.attempts.length ? 'failed' : 'succeeded';
  const ends = deviants.map((deviant) => endOf(deviant, context));
  const unknown = nextOfUnknownMembers(deviants, context);
  return { kind: 'finish', state, ends: unknown === 'resend' ? stayBehind(ends, context) : ends, unknown };
}

function endOf(deviant: Deviant, context: SettlementContext): MemberEnd {
  const { index, status } = deviant;
  const attempts = context.attempts[index]! + 1;
  switch (status) {
    case 'failed':
      return { index, to: 'failed', error: deviant.error ?? 'refused by the downstream, which gave no error' };
    case 'unknown':
      return { index, to: 'unknown', error: deviant.error ?? 'the downstream gave no result for this task' };
    case 'retry': {
      const error = deviant.error ?? 'the downstream asked for a retry and gave no error';
      if (attempts >= context.maxAttempts) return { index, to: 'dead', error };
      // No jitter: tasks that failed together come back together and share a batch.
      const inMs = Math.max(deviant.retryAfterMs ?? 0, backoffMs(context.delayed, attempts));
      return { index, to: 'retry', inMs, error };
    }
    default:
      return neverHappens(status);
  }
}

/**
 * Decides about members without a result beside members that have one. They are sent again as a
 * separate batch, which a key of the batch cannot cover, so only if each task has a key; otherwise
 * they are looked up, or handled as `onUnknown` says. If they are sent again, those without an
 * attempt left stay behind, parked (`stayBehind`).
 */
function nextOfUnknownMembers(
  deviants: readonly Deviant[],
  context: SettlementContext,
): 'park' | 'resend' | 'reconcile' {
  const unknown = deviants.filter(({ status }) => status === 'unknown');
  const left = unknown.filter(({ index }) => hasAttemptLeft(index, context)).length;
  if (unknown.length === 0) return 'park';
  const byTask = context.idempotency !== 'none' && context.idempotency.by === 'task' && keyHolds(context, 0);
  if (byTask && left === unknown.length) return 'resend';
  if (context.canReconcile) return 'reconcile';
  return left > 0 && (byTask || context.onUnknown === 'resend') ? 'resend' : 'park';
}

const hasAttemptLeft = (index: number, context: SettlementContext): boolean =>
  context.attempts[index]! + 1 < context.maxAttempts;

/**
 * Ends members that may not be sent again beside those that are: their outcome is unknown, so they
 * are parked, not dead.
 */
const stayBehind = (ends: readonly MemberEnd[], context: SettlementContext): MemberEnd[] =>
  ends.map((end) => (end.to === 'unknown' && !hasAttemptLeft(end.index, context) ? { ...end, parked: true } : end));

/**
 * Settles back pressure: the same batch later, without counting an attempt. Retry-After is
 * honoured; 0 counts as none (obeyed, it would be a hot loop). Without it, exponential with full
 * jitter: from the in-place base while such repeats are left, then from the delayed one.
 */
function settleLater(outcome: Extract<CallOutcome, { kind: 'later' }>, context: SettlementContext): Settlement {
  const repeat = context.refusals + 1;
  const { times } = context.inPlace;
  const exponentialMs = inPlaceMs(context.inPlace, repeat) ?? backoffMs(context.delayed, repeat - times);
  const asked = outcome.retryAfterMs ?? 0;
  const inMs = asked > 0 ? asked : withFullJitter(exponentialMs, context.random);
  const inPlace = repeat <= times && inMs < IN_PLACE_BELOW_MS;
  return { kind: 'wait', inMs, hold: outcome.scope, inPlace, error: outcome.error };
}

/**
 * Settles a refusal for content: halved until the poison task is alone. But if both halves of the
 * first split are refused entirely (two tasks refused alone included), it is not a poison task and
 * the handler is paused. Splits go on at `maxAttempts` too: a content error is deterministic, and
 * the neighbours must not die of it.
 */
function settleRejected(error: string, context: SettlementContext): Settlement {
  const members = context.attempts.length;
  const failed: Settlement = { kind: 'finish', state: 'failed', error, ends: [], unknown: 'park' };
  if (!context.bisect) return failed;
  if (context.depth === 1 && context.sibling === 'pending') return { kind: 'await-sibling', error };
  if (context.depth === 1 && context.sibling === 'refused') {
    return { kind: 'halt', reason: `both halves of the first split were refused: ${error}` };
  }
  return members === 1 ? failed : { kind: 'split', at: Math.ceil(members / 2), error };
}

/**
 * Settles a whole batch of unknown outcome, after `reconcile` (if there is one) was unsure: sent
 * again with the same keys while they hold and attempts are left, otherwise as `onUnknown` says.
 * Never bisected: a half would go under another key. For the same reason a key of the batch goes
 * again for all its members or for none, and the member with the most attempts decides; if each
 * task has a key, those that have attempts left go.
 */
function settleUnknown(error: string, context: SettlementContext): Settlement {
  const attempts = context.attempts.reduce((most, each) => Math.max(most, each), 0) + 1; // not a spread: 50,000 members
  const inMs = backoffMs(context.delayed, attempts);
  const maySend = keyHolds(context, inMs) || context.onUnknown === 'resend';
  if (maySend && attempts < context.maxAttempts) return { kind: 'resend', inMs, error };
  const byBatch = context.idempotency !== 'none' && context.idempotency.by === 'batch';
  if (!maySend || byBatch || !context.attempts.some((_, index) => hasAttemptLeft(index, context)))
    return { kind: 'park', error };
  const ends = context.attempts.map((_, index): MemberEnd => ({ index, to: 'unknown', error }));
  return { kind: 'finish', state: 'failed', ends: stayBehind(ends, context), unknown: 'resend', unknownInMs: inMs };
}

/**
 * Says whether the downstream still knows the keys `inMs` from now, when they would be used again.
 */
function keyHolds({ idempotency, ageMs }: SettlementContext, inMs: number): boolean {
  return idempotency !== 'none' && ageMs + inMs <= (idempotency.windowMs ?? Infinity);
}

function checkMembers(deviants: readonly Deviant[], members: number): void {
  const seen = new Set<number>();
  for (const { index } of deviants) {
    if (!Number.isInteger(index) || index < 0 || index >= members || seen.has(index)) {
      throw new Error(
        `deviants: expected each index once, from 0 to ${members - 1}, got ${index}; check the answer first`,
      );
    }
    seen.add(index);
  }
}

function neverHappens(value: never): never {
  throw new Error(`expected a known outcome, got ${JSON.stringify(value)}`);
}
