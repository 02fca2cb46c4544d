import { reconcileOutcome } from '../../handlers/reconcile';
import { callHandler } from '../../handlers/call';
import { stackOf } from '../../handlers/stack';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { readMembersOf } from '../../postgres/calls/members';
import type { Fence } from '../../postgres/calls/mark';
import type { Call } from './call';
import type { CallEnd } from './door';
import type { PartitionUse } from '../nodes/partitions';
import type { CallerDeps, Carried } from './carried';
import { openMembers } from '../codec/openMembers';
import type { RateLimit } from '../../workflows/planning/limits/limits';
import { ratesOfTarget } from '../../workflows/planning/limits/limits';
import type { SharedRate } from '../../workflows/planning/limits/sharing';
import { startCallSpan } from '../tracing/callSpan';
import { contextOf, newPages, toBatch, toCall } from './request';

/** When a batch is looked up again whose payloads cannot be given to the handler. */
const LOOK_AGAIN_MS = 5_000;
const TOO_LATE = {
  kind: 'later',
  retryAfterMs: 0,
  scope: 'target',
  error: 'not sent: decoding its payloads took too long',
} as const;
/** That a batch is looked up is only shown: what it finds must not be lost for that. */
const NOT_SHOWN = 'that a batch is being looked up could not be noted';
/** How long a marked call may wait for a slot before its mark is withdrawn. */
const MARK_AHEAD_MS = 10_000;

/**
 * Reads the members of batches that are about to be called and marks the calls. Omits batches that
 * must not be sent.
 */
export const prepare = async (deps: CallerDeps, batches: readonly CarriedBatch[]): Promise<Carried[]> => {
  const fence = fenceOf(deps.use);
  const by = {
    dispatch: deps.input.no,
    timeoutMs: deps.handler.timeoutMs + MARK_AHEAD_MS,
    ...(fence === null ? {} : { fence }),
  };
  const marks = batches.map(({ id, attempt }) => ({ id, attempt, ...by }));
  // Reads the time before the mark, not after: the process may be stopped in between, and the next
  // one relies on calls ending before their mark expires.
  const markedAtMs = performance.now();
  const { members, marked } = await deps.marks.prepare(marks, deps.signal);
  const carried = batches
    .filter((batch) => marked.has(batch.id))
    .map((batch) => ({ batch, members: members.get(batch.id) ?? [], attempt: batch.attempt + 1, markedAtMs, fence }));
  if (deps.hooks !== undefined) for (const one of carried) deps.hooks.marked(one);
  return carried;
};

export const fenceOf = (use: PartitionUse | null): Fence | null =>
  use === null ? null : { id: use.id, epoch: use.epoch };

/**
 * Returns true if the mark is too old to call under, or the lease behind it may have expired.
 * Nothing was sent, and the mark is withdrawn.
 */
export const isStale = ({ use }: Pick<CallerDeps, 'use'>, carried: Carried): boolean =>
  performance.now() - carried.markedAtMs > MARK_AHEAD_MS || use?.isHeld() === false;

/**
 * Waits until the handler's rates allow the call of this batch; false: the call was given up first.
 */
export const mayStart = async (
  { paces, handler }: Pick<CallerDeps, 'paces' | 'handler'>,
  { targetId, n, weight, aheadMs, ratesSet }: CarriedBatch,
  givesUp: () => boolean,
): Promise<boolean> => {
  const rates = ratesSet == null ? handler.rates : ratesOfTarget(ratesSet.handler, ratesSet.target);
  const cost = { calls: 1 as const, items: n, weight };
  const takes = (name: string, all: readonly (RateLimit | SharedRate)[]): Promise<boolean> => {
    if (all.length === 0) return Promise.resolve(true);
    const pace = paces.of({ name, rates: [] });
    return pace.turn(targetId, cost, pace.clock(aheadMs), givesUp, all);
  };
  const shared = ratesSet?.shared ?? null;
  // A handler's name has no blank: what it shares has a pace of all that share it.
  return (
    (await takes(handler.name, rates)) && (shared === null || (await takes(`shared ${shared.name}`, shared.rates)))
  );
};

/**
 * Makes the call and returns its outcome; an unknown outcome is looked up at once if the handler
 * can.
 */
export const makeCall = async (deps: CallerDeps, carried: Carried): Promise<{ call: Call; outcome: CallEnd }> => {
  const call = toCall(deps, carried);
  const unsent = await openMembers(call.home.sealer, call);
  if (unsent !== null) return { call, outcome: unsent };
  if (call.home.sealer !== null && isStale(deps, carried)) return { call, outcome: { ...TOO_LATE } };
  const batch = toBatch(deps.handler, call);
  const span = startCallSpan(call);
  call.calledAtMs = performance.now();
  let outcome: CallEnd = await span.run(() =>
    callHandler(deps.handler, batch, contextOf(deps, call, span), call.pages, (thrown) => {
      call.stack = stackOf(thrown);
    }),
  );
  if (outcome.kind !== 'results') call.pages = newPages(call); // an interrupted answer is void
  if (outcome.kind === 'unknown' && deps.handler.reconcile !== undefined) {
    await call.home.lookingUp(call.batch).catch((err: unknown) => deps.log.warn({ err }, NOT_SHOWN));
    outcome = await lookUp(deps, call, outcome.error);
  }
  span.end(outcome);
  const tookMs = performance.now() - call.calledAtMs;
  if (outcome.kind !== 'unreadable') {
    deps.hooks?.called(call, outcome, tookMs);
    call.home.outcomes?.called(call, outcome, tookMs);
  }
  return { call, outcome };
};

/**
 * Concludes an earlier attempt that was marked and never concluded (its process died): unknown,
 * looked up first. Nothing is sent here.
 */
export const concludeEarlier = async (
  deps: CallerDeps,
  batch: CarriedBatch,
): Promise<{ call: Call; outcome: CallEnd }> => {
  const members = await readMembersOf(deps.pool, batch.id);
  const call = toCall(deps, { batch, members, attempt: batch.attempt, fence: fenceOf(deps.use) });
  const error =
    batch.reportedLost ?? `attempt ${batch.attempt} was not concluded: its process died during or around the call`;
  return { call, outcome: await lookUp(deps, call, error) };
};

/**
 * Looks up an unknown outcome. `absent` means "send again": with the same keys and a counted
 * attempt, regardless of the policy for unknown outcomes.
 */
const lookUp = async (deps: CallerDeps, call: Call, error: string): Promise<CallEnd> => {
  if (deps.handler.reconcile !== undefined && (await openMembers(call.home.sealer, call)) !== null)
    return { kind: 'look-again', inMs: LOOK_AGAIN_MS };
  const found = await reconcileOutcome(deps.handler, toBatch(deps.handler, call), contextOf(deps, call), call.pages);
  switch (found.kind) {
    case 'absent': {
      const tooYoungMs = deps.handler.absentAfterMs - (performance.now() - call.calledAtMs);
      call.pages = newPages(call);
      if (tooYoungMs > 0) return { kind: 'look-again', inMs: tooYoungMs };
      call.absent = true;
      return { kind: 'unknown', error: `${error}; the downstream does not have it` };
    }
    case 'unsure':
      call.pages = newPages(call);
      return { kind: 'unknown', error: found.error === undefined ? error : `${error}; ${found.error}` };
    default:
      return found;
  }
};
