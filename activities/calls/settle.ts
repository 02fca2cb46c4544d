import { CANCELLATION_CAUSES, givesUp, sendNothingAgain } from '../../workflows/planning/calls/cancellation';
import { countsAttempt, decideSettlement } from '../../workflows/planning/calls/settlement';
import type { CallOutcome, Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { BATCH_STATES } from '../../workflows/planning/states';
import { cancelAs, giveUp, isCancelled } from '../../postgres/accepted/cancellation';
import { noteCompletion } from '../../postgres/accepted/completion';
import { withRetries } from '../../postgres/errors';
import { noteFault } from '../../postgres/calls/fault';
import { pauseHandler } from '../../postgres/grouping/handler';
import type { Client } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { lockSibling, markRefused } from '../../postgres/calls/halves';
import { insertResultPage } from '../../postgres/calls/records';
import * as settle from '../../postgres/calls/settle';
import { setTargetPaused } from '../../postgres/grouping/target';
import type { Call, Settled } from './call';
import type { ActivityDeps } from '../deps';
import { askEveryMs } from '../../handlers';
import type { Handler } from '../../handlers/types';
import { finish, notify } from './finish';
import { concludeSibling, insertHalves } from './halves';
import { concludePair, findPair, pairState } from '../lanes/halves';
import type { Part } from '../lanes/settle';
import { asLane, settleInLane } from '../lanes/settle';
import { IN_PROCESS_MS, putOff } from './putOff';

export const contextOf = (call: Call, sibling: SettlementContext['sibling']): SettlementContext => ({
  attempts: call.members.map((member) => member.attempts),
  maxAttempts: call.handler.retry.maxAttempts,
  idempotency: call.handler.idempotency,
  onUnknown: call.absent ? 'resend' : call.handler.onUnknown,
  canReconcile: call.handler.reconcile !== undefined,
  bisect: call.handler.bisect,
  delayed: call.handler.retry.delayed,
  inPlace: call.handler.retry.inPlace,
  // In a lane the rule of the first split is that of the first two tasks (`laneHalves.ts`).
  depth: call.batch.inLane && (sibling === 'pending' || sibling === 'refused') ? 1 : call.batch.depth,
  sibling,
  refusals: call.batch.refusals,
  ageMs: call.batch.ageMs ?? 0,
  random: Math.random,
});

/**
 * Every member succeeded and nothing is to be said but that: the one settlement that many batches
 * share a statement for.
 */
export const isPlainSuccess = (outcome: CallOutcome, { batch, completion }: Call): boolean =>
  outcome.kind === 'results' &&
  outcome.deviants.length === 0 &&
  batch.depth !== 1 &&
  !batch.inLane &&
  completion === undefined;

/**
 * Decides and writes what one call came to, in one transaction guarded by (batch, attempt) (DESIGN
 * section 4.5).
 */
export const settleCall = async (
  deps: Pick<ActivityDeps, 'pool'>,
  call: Call,
  outcome: CallOutcome,
): Promise<Settled> => {
  const pages = await call.pages.rest();
  for (const page of pages) await insertResultPage(deps.pool, page);
  return withRetries(() =>
    inTransaction(deps.pool, async (client) => {
      const { batch } = call;
      const sibling =
        batch.depth === 1 && batch.parentId !== null && !batch.inLane
          ? await lockSibling(client, batch.parentId, batch.id)
          : null;
      const pair = await findPair(client, batch);
      const guard = await settle.lockAttempt(client, batch.id, call.attempt);
      const siblingWas = batch.inLane ? pairState(batch, pair) : siblingState(batch.depth, sibling);
      const cancelled = guard !== null && guard.reference !== null && (await isCancelled(client, batch.id));
      const decided = decide(call, outcome, siblingWas, cancelled);
      const settlement = batch.inLane ? asLane(decided, outcome, batch.refusals) : decided;
      const settled: Settled = {
        written: guard !== null,
        kind: settlement.kind,
        ring: true,
        againInMs: null,
        accepted: false,
        notices: false,
        lanes: [],
      };
      // Parked already (state unknown): only a true answer to that very attempt may still change it
      // (store.md section 3).
      const over = guard === null || guard.state === BATCH_STATES.unknown || guard.concluded;
      if (guard === null || (over && settlement.kind !== 'finish')) return { ...settled, written: false };
      const parts: Part[] = [];
      await write(client, call, settlement, settled, parts);
      if (batch.inLane) settled.lanes = await settleInLane(client, call, settlement, parts);
      if (call.stack != null && outcome.kind === 'unknown') await noteFault(client, batch.id, call.attempt, call.stack);
      if (guard.reference !== null) await followUp(client, call, settlement, guard.reference, cancelled);
      if (call.completion !== undefined) await noteCompletion(client, batch.id, call.completion);
      if (siblingWas !== 'refused' || !decidesOther(settlement)) return settled;
      if (!batch.inLane)
        settled.notices = (await concludeSibling(client, call, sibling!, settlement)) || settled.notices;
      else {
        const other = await concludePair(client, call, pair!, settlement);
        settled.notices ||= other.notices;
        settled.lanes.push(...other.lanes);
      }
      return settled;
    }),
  );
};

const decide = (
  call: Call,
  outcome: CallOutcome,
  sibling: SettlementContext['sibling'],
  cancelled: boolean,
): Settlement => {
  const decided: Settlement =
    call.park !== undefined && outcome.kind === 'unknown'
      ? { kind: 'park', error: call.park }
      : keepUnsureWhole(call, decideSettlement(outcome, contextOf(call, sibling)));
  if (!cancelled) return decided;
  return sendNothingAgain(decided, outcome, { members: call.members.length, absent: call.absent });
};

/** Of an accepted batch: the downstream is asked to stop what nobody waits for any more. */
const followUp = async (
  client: Client,
  call: Call,
  settlement: Settlement,
  reference: string,
  cancelled: boolean,
): Promise<void> => {
  const { batch, handler, absent, overdue = false } = call;
  if (cancelled && settlement.kind === 'accept') await cancelAs(client, batch.id, settlement.reference);
  if (givesUp(settlement, { overdue, absent, idempotency: handler.idempotency }))
    await giveUp(client, batch.id, reference, CANCELLATION_CAUSES.deadline);
};

/** What became of a half is known, so that the refused other one is decided (H4). */
const decidesOther = ({ kind }: Settlement): boolean => kind !== 'wait' && kind !== 'resend' && kind !== 'accept';

const siblingState = (
  depth: number,
  sibling: { state: number; refused: boolean } | null,
): SettlementContext['sibling'] => {
  if (depth !== 1) return null;
  if (sibling === null || sibling.state !== BATCH_STATES.open) return 'other';
  return sibling.refused ? 'refused' : 'pending';
};

const write = async (
  client: Client,
  call: Call,
  settlement: Settlement,
  settled: Settled,
  parts: Part[],
): Promise<void> => {
  const { batch, attempt } = call;
  const counts = countsAttempt(settlement.kind);
  switch (settlement.kind) {
    case 'finish':
      settled.notices = await finish(client, call, settlement, parts);
      return;
    case 'accept': {
      settled.accepted = true;
      settled.ring = false;
      const poll = { everyMs: askEveryMs(call.handler), deadlineMs: call.handler.poll.deadlineMs };
      await settle.acceptBatch(client, batch.id, attempt, { reference: settlement.reference, ...poll });
      return;
    }
    case 'wait':
      return putOff(client, call, settlement, settled);
    case 'resend': {
      const keep = settlement.inMs < IN_PROCESS_MS && !batch.inLane;
      await settle.deferBatch(client, batch.id, attempt, {
        inMs: settlement.inMs,
        refused: false,
        counts,
        keep,
        error: settlement.error,
      });
      if (keep) settled.againInMs = settlement.inMs;
      return;
    }
    case 'split':
      for (const id of await insertHalves(
        client,
        batch,
        call.members.map((member) => member.seq),
        settlement.at,
        settlement.error,
      ))
        parts.push({ batchId: id, status: 'unsubmitted', inMs: null });
      return;
    case 'await-sibling':
      settled.ring = false;
      await markRefused(client, batch.id, settlement.error);
      return;
    case 'halt':
      return halt(client, call, settlement);
    case 'park':
      await settle.parkBatch(client, batch.id, attempt, counts, settlement.error);
      settled.notices = await notify(
        client,
        call,
        call.members.map((_, index) => index),
        [],
        'unknown',
        settlement.error,
      );
      return;
  }
};

/** The target or the handler pauses; the batch waits for its resume, or its tasks do. */
const halt = async (client: Client, call: Call, settlement: Extract<Settlement, { kind: 'halt' }>): Promise<void> => {
  const { batch, attempt } = call;
  if (settlement.scope === 'target') await setTargetPaused(client, call.handler.name, batch.target, settlement.reason);
  else await pauseHandler(client, call.handler.name, settlement.reason);
  // An earlier call may have been applied: in a new batch, under a new key, its tasks could be
  // applied twice (H3). It keeps its own. In a lane it keeps its place, too.
  if (batch.inLane || (batch.unsure && !keyedByTask(call.handler)))
    await settle.deferBatch(client, batch.id, attempt, {
      inMs: 0,
      refused: true,
      counts: false,
      keep: false,
      error: settlement.reason,
    });
  else await settle.dissolveBatch(client, batch.id, countsAttempt(settlement.kind), settlement.reason);
};

/**
 * H3: a batch of which an earlier call may have been applied is never split, unless every task has
 * its own key.
 */
const keepUnsureWhole = (call: Call, settlement: Settlement): Settlement =>
  call.batch.unsure &&
  !keyedByTask(call.handler) &&
  (settlement.kind === 'split' || settlement.kind === 'await-sibling')
    ? {
        kind: 'park',
        error: `refused for its content after a call of unknown outcome, so it was not split: ${settlement.error}`,
      }
    : settlement;

const keyedByTask = (handler: Handler): boolean => handler.idempotency !== 'none' && handler.idempotency.by === 'task';
