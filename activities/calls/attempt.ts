import { reconcileOutcome } from '../../handlers/reconcile';
import { callHandler } from '../../handlers/call';
import { stackOf } from '../../handlers/stack';
import { cutText, describeThrown } from '../../handlers/text';
import type { CallOutcome } from '../../workflows/planning/calls/plans';
import * as store from '../../postgres/calls/batch';
import type { CarriedBatch, MemberTask } from '../../postgres/calls/batch';
import type { Fence } from '../../postgres/calls/mark';
import { recoverAllowed } from '../../postgres/calls/backPressure';
import { isRefusedValue, withRetries } from '../../postgres/errors';
import { markResolving } from '../../postgres/lanes/settle';
import { isPlainInLane, settlePlainInLane } from '../lanes/plain';
import { lookAgainInLane } from '../lanes/settle';
import { resolveInLane } from '../lanes/unknown';
import { isPlainSuccess, settleCall } from './settle';
import type { Call, Settled } from './call';
import type { PartitionUse } from '../nodes/partitions';
import { noticesOf } from '../callbacks/notices';
import type { CallerDeps, Carried } from './carried';
import { contextOf, newPages, toBatch, toCall } from './request';

/**
 * A mark is made a little before its call: it may wait this long for a slot before it is given up.
 */
const MARK_AHEAD_MS = 10_000;

/**
 * Reads the members of batches that are about to be called and marks the calls. Batches that may
 * not go are left out.
 */
export const prepare = async (deps: CallerDeps, batches: readonly CarriedBatch[]): Promise<Carried[]> => {
  const fence = fenceOf(deps.use);
  const by = {
    dispatch: deps.input.no,
    timeoutMs: deps.handler.timeoutMs + MARK_AHEAD_MS,
    ...(fence === null ? {} : { fence }),
  };
  const marks = batches.map(({ id, attempt }) => ({ id, attempt, ...by }));
  // Before the mark, not after: a process may be stopped in between, and whoever takes over counts
  // on calls that end before their mark does.
  const markedAtMs = performance.now();
  const { members, marked } = await deps.marks.prepare(marks);
  const byBatch = groupByBatch(members);
  return batches
    .filter((batch) => marked.has(batch.id))
    .map((batch) => ({ batch, members: byBatch.get(batch.id) ?? [], attempt: batch.attempt + 1, markedAtMs, fence }));
};

export const fenceOf = (use: PartitionUse | null): Fence | null =>
  use === null ? null : { id: use.id, epoch: use.epoch };

const groupByBatch = (members: readonly MemberTask[]): Map<number, MemberTask[]> => {
  const byBatch = new Map<number, MemberTask[]>();
  for (const member of members) {
    const list = byBatch.get(member.batchId);
    if (list === undefined) byBatch.set(member.batchId, [member]);
    else list.push(member);
  }
  return byBatch;
};

/** What a call came to, or: looked up too early to believe that it is absent, look again later. */
export type CallEnd = CallOutcome | { kind: 'look-again'; inMs: number };

/**
 * True: the mark is too old to be called under, or the lease that it was made under may have
 * passed; it is given up, nothing was sent.
 */
export const isStale = ({ use }: Pick<CallerDeps, 'use'>, carried: Carried): boolean =>
  performance.now() - carried.markedAtMs > MARK_AHEAD_MS || use?.isHeld() === false;

/**
 * Waits until the handler's rates let the call of this batch start (G1); false: given up before.
 */
export const mayStart = async (
  { paces, handler }: Pick<CallerDeps, 'paces' | 'handler'>,
  { targetId, n, weight, aheadMs }: CarriedBatch,
  givesUp: () => boolean,
): Promise<boolean> => {
  if (handler.rates.length === 0) return true;
  const pace = paces.of(handler);
  return pace.turn(targetId, { calls: 1, items: n, weight }, pace.clock(aheadMs), givesUp);
};

/**
 * Makes the call and says what it came to; an unknown outcome is looked up at once where the
 * handler can (H3).
 */
export const makeCall = async (deps: CallerDeps, carried: Carried): Promise<{ call: Call; outcome: CallEnd }> => {
  const call = toCall(deps, carried);
  const batch = toBatch(deps.handler, call);
  let outcome: CallEnd = await callHandler(deps.handler, batch, contextOf(deps, call), call.pages, (thrown) => {
    call.stack = stackOf(thrown);
  });
  if (outcome.kind !== 'results') call.pages = newPages(deps, call); // what an interrupted answer said is void
  if (outcome.kind === 'unknown' && deps.handler.reconcile !== undefined) {
    if (call.batch.inLane) await markResolving(deps.pool, call.batch.id);
    outcome = await lookUp(deps, call, outcome.error);
  }
  return { call, outcome };
};

/**
 * An earlier attempt was marked and never concluded (its process died): unknown, looked up first.
 * Nothing is sent here.
 */
export const concludeEarlier = async (
  deps: CallerDeps,
  batch: CarriedBatch,
): Promise<{ call: Call; outcome: CallEnd }> => {
  const members = await store.readMembers(deps.pool, [batch.id]);
  const call = toCall(deps, { batch, members, attempt: batch.attempt, fence: fenceOf(deps.use) });
  const error = `attempt ${batch.attempt} was not concluded: its process died in the call, or right before or after it`;
  return { call, outcome: await lookUp(deps, call, error) };
};

/**
 * `absent` becomes a plain "send it again": the same keys, an attempt counted, whatever the policy
 * for unknown outcomes says.
 */
const lookUp = async (deps: CallerDeps, call: Call, error: string): Promise<CallEnd> => {
  const found = await reconcileOutcome(deps.handler, toBatch(deps.handler, call), contextOf(deps, call), call.pages);
  switch (found.kind) {
    case 'absent': {
      const tooYoungMs = deps.handler.absentAfterMs - (call.batch.ageMs ?? 0);
      call.pages = newPages(deps, call);
      if (tooYoungMs > 0) return { kind: 'look-again', inMs: tooYoungMs };
      call.absent = true;
      return { kind: 'unknown', error: `${error}; the downstream does not have it` };
    }
    case 'unsure':
      call.pages = newPages(deps, call);
      return { kind: 'unknown', error: found.error === undefined ? error : `${error}; ${found.error}` };
    default:
      return found;
  }
};

/**
 * Writes what the call came to. An answer that Postgres refuses in spite of all checks ends as
 * unknown, with that as its reason: settled again and again it would keep every batch of its
 * submission from their ends, and would be sent again each time.
 */
export const settleOutcome = async (
  deps: Pick<CallerDeps, 'pool' | 'handler' | 'successes'>,
  call: Call,
  outcome: CallEnd,
): Promise<Settled> => {
  try {
    return await writeOutcome(deps, call, outcome);
  } catch (error) {
    if (!isRefusedValue(error) || outcome.kind === 'unknown') throw error;
    call.pages = newPages(deps, call);
    return writeOutcome(deps, call, {
      kind: 'unknown',
      error: cutText(`the answer cannot be stored: ${describeThrown(error)}`),
    });
  }
};

const writeOutcome = async (
  deps: Pick<CallerDeps, 'pool' | 'handler' | 'successes'>,
  call: Call,
  outcome: CallEnd,
): Promise<Settled> => {
  const { batch } = call;
  if (outcome.kind === 'look-again') {
    if (batch.inLane) return lookLater(deps, call, outcome.inMs, 'looked up too early to be believed', false);
    await store.postponeLookUp(deps.pool, batch.id, call.attempt, outcome.inMs);
    return PUT_OFF;
  }
  if (batch.inLane && outcome.kind === 'unknown') {
    const next = await resolveInLane(deps.pool, call, outcome.error);
    if (next.kind === 'look-again') return lookLater(deps, call, next.inMs, next.error, true);
  }
  // What is told from outside recovers where it was told (`complete.ts`).
  const succeeded = outcome.kind === 'results' && outcome.deviants.length === 0 && call.completion === undefined;
  if (isPlainInLane(outcome, call)) return settlePlainInLane(deps, call, outcome);
  if (!isPlainSuccess(outcome, call)) {
    const settled = await settleCall(deps, call, outcome);
    if (batch.inLane && batch.reduced && settled.written && succeeded)
      await withRetries(() => recoverAllowed(deps.pool, batch));
    return settled;
  }
  const notices = noticesOf(
    call,
    call.members.map((_, index) => index),
    [],
    'succeeded',
    null,
  );
  const keyed = deps.handler.distinctBy !== undefined;
  const written = await deps.successes.write({
    batch: { id: batch.id, attempt: call.attempt, counts: true, keyed },
    pages: await call.pages.rest(),
    notices,
  });
  if (batch.reduced && written) await withRetries(() => recoverAllowed(deps.pool, batch));
  return {
    written,
    kind: 'finish',
    ring: keyed,
    againInMs: null,
    accepted: false,
    notices: notices.length > 0,
    lanes: [],
  };
};

const PUT_OFF: Settled = {
  written: true,
  kind: 'wait',
  ring: true,
  againInMs: null,
  accepted: false,
  notices: false,
  lanes: [],
};
const lookLater = async (
  deps: Pick<CallerDeps, 'pool'>,
  call: Call,
  inMs: number,
  error: string,
  counts: boolean,
): Promise<Settled> => {
  const lanes = await lookAgainInLane(deps.pool, call, { inMs, error, counts });
  return { ...PUT_OFF, written: lanes !== null, lanes: lanes ?? [] };
};
