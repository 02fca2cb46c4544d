import type { CallOutcome, Deviant, MemberEnd, Settlement, SettlementContext } from './plans';
import { backoffMs, inPlaceMs, IN_PLACE_BELOW_MS, withFullJitter } from './retry';

/**
 * Decides what happens to a batch after one call, with one function per outcome; docs/handlers has
 * the table of outcomes. `context.attempts` has one entry per member, in order.
 *
 * @throws Error for deviants that are not members: the answer is checked before, so this is a
 * defect of Muster.
 */
export function decideSettlement(outcome: CallOutcome, context: SettlementContext): Settlement {
  switch (outcome.kind) {
    case 'results':
      return settleResults(outcome.deviants, context);
    case 'accepted':
      // The batch stays in progress until the downstream is done with it.
      return { kind: 'accept', reference: outcome.reference };
    case 'later':
      return settleLater(outcome, context);
    case 'rejected':
      return settleRejected(outcome.error, context);
    case 'unreadable':
      return settleUnreadable(outcome, context);
    case 'halted':
      // A refused credential or address is not the tasks' fault.
      return { kind: 'halt', reason: outcome.error, ...(outcome.scope === undefined ? {} : { scope: outcome.scope }) };
    case 'unknown':
      return settleUnknown(outcome.error, context);
    default:
      return neverHappens(outcome);
  }
}

/**
 * Says whether the call costs its members an attempt. Back pressure and a paused handler never do.
 * If the call was accepted, or its batch awaits its sibling, the later settlement counts it.
 */
export function countsAttempt(kind: Settlement['kind']): boolean {
  return kind === 'finish' || kind === 'split' || kind === 'resend' || kind === 'park';
}

/**
 * Settles results: members that are `ok` share the batch's end, and every other member gets its
 * own. If none is `ok`, the batch is `failed`.
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
      // No jitter: tasks that failed together become due together and share a batch.
      const inMs = Math.max(deviant.retryAfterMs ?? 0, backoffMs(context.delayed, attempts));
      return { index, to: 'retry', inMs, error };
    }
    default:
      return neverHappens(status);
  }
}

/**
 * Decides what happens to the members without a result, where other members have one. To be sent
 * again they need a separate batch, which the key of the old batch does not cover: so that is done
 * only if each task has a key. Otherwise they are looked up, or handled as `onUnknown` says. If
 * they are sent again, the members without an attempt left stay behind, parked (`stayBehind`).
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
 * Parks the unknown members that have no attempt left, while the others are sent again. They are
 * not `dead`, since their outcome is unknown.
 */
const stayBehind = (ends: readonly MemberEnd[], context: SettlementContext): MemberEnd[] =>
  ends.map((end) => (end.to === 'unknown' && !hasAttemptLeft(end.index, context) ? { ...end, parked: true } : end));

/**
 * Settles back pressure: the same batch is sent later, without a counted attempt. Waits as long as
 * Retry-After asks; 0 counts as none, since obeying it would be a hot loop. Without Retry-After the
 * wait grows exponentially with full jitter: from the in-place base while in-place repeats are
 * left, then from the delayed base.
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
 * Settles a refusal of the content: the batch is halved until the poison task is alone. But if both
 * halves of the first split are refused as a whole, even if each is a single task, the fault is not
 * a poison task, and the handler is paused. Batches are split even at `maxAttempts`: a content
 * error is deterministic, and the neighbours of a poison task must not die of it.
 */
function settleRejected(error: string, context: SettlementContext): Settlement {
  const members = context.attempts.length;
  const failed: Settlement = { kind: 'finish', state: 'failed', error, ends: [], unknown: 'park' };
  if (!context.bisect) return failed;
  if (context.sibling === 'pending') return { kind: 'await-sibling', error };
  if (context.sibling === 'refused') {
    return { kind: 'halt', reason: `both halves of the first split were refused: ${error}` };
  }
  return members === 1 ? failed : { kind: 'split', at: Math.ceil(members / 2), error };
}

/**
 * Settles a batch that was not sent since some of its payloads cannot be decoded: it is halved, at
 * no attempt, until each of those is alone. That one is tried again, until no attempt is left; one
 * that its handler refuses has failed.
 */
function settleUnreadable(
  outcome: Extract<CallOutcome, { kind: 'unreadable' }>,
  context: SettlementContext,
): Settlement {
  const { error, isLasting = false } = outcome;
  const members = context.attempts.length;
  if (members > 1) return { kind: 'split', at: Math.ceil(members / 2), error, counts: false };
  return settleResults([{ index: 0, status: isLasting ? 'failed' : 'retry', error }], context);
}

/**
 * Settles a whole batch of unknown outcome, after `reconcile` (if the handler has one) was unsure.
 * The batch is sent again with the same keys while they are valid and attempts are left; otherwise
 * `onUnknown` decides. It is never bisected, since a half would have another key. For the same
 * reason, with a key per batch all members are sent again or none, and the member with the most
 * attempts decides; with a key per task, the members that have attempts left are sent again.
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
 * Says whether the downstream will still know the keys in `inMs` milliseconds, when they would be
 * used again.
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
