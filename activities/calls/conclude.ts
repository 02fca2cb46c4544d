import { CANCELLATION_CAUSES, givesUp } from '../../workflows/planning/calls/cancellation';
import { countsAttempt } from '../../workflows/planning/calls/settlement';
import { countsOf, ENDS } from '../../workflows/planning/outcomes/kinds';
import { BATCH_STATES } from '../../workflows/planning/states';
import { cancelAs, giveUp, isCancelled } from '../../postgres/accepted/cancellation';
import { noteCompletion } from '../../postgres/accepted/completion';
import { withRetries } from '../../postgres/errors';
import { noteFault } from '../../postgres/calls/fault';
import { pauseHandler } from '../../postgres/grouping/handler';
import type { Client } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { markRefused } from '../../postgres/calls/halves';
import { insertResultPage } from '../../postgres/calls/records';
import * as store from '../../postgres/calls/settle';
import { noteEnds } from '../../postgres/outcomes/uncounted';
import { setTargetPaused } from '../../postgres/grouping/target';
import type { Call, Settled } from './call';
import { decide } from './decide';
import type { Conclude, Decision, Part } from './door';
import { askEveryMs } from '../../handlers';
import { finish, notify } from './finish';
import { insertHalves } from './halves';
import { putOff } from './putOff';
import { Tally } from '../outcomes/tally';

/** Decides and writes the outcome of one call, in one transaction guarded by (batch, attempt). */
export const conclude = async (call: Call, door: Conclude): Promise<Settled> => {
  const { pool } = call.home;
  const pages = await call.pages.rest();
  for (const page of pages) await insertResultPage(pool, page);
  return withRetries(() =>
    inTransaction(pool, async (client) => {
      const settled = await concludeLocked(client, call, door);
      if (settled.written && call.home.outcomes === undefined) await note(client, call);
      return settled;
    }),
  );
};

const note = async (client: Client, { handler: { name }, tally }: Call): Promise<void> => {
  if (tally!.counts.size > 0) await noteEnds(client, [{ handler: name, ends: countsOf(ENDS, tally!.counts) }]);
};

const concludeLocked = async (client: Client, call: Call, door: Conclude): Promise<Settled> => {
  const { batch, attempt, home, stack, completion } = call;
  // Anew with each try.
  if (home.hooks?.observesEnds === true) call.ended = [];
  call.tally = new Tally();
  const half = await home.lockHalf(client, batch);
  const guard = await store.lockAttempt(client, batch.id, attempt);
  const sibling = home.rules.siblingOf(batch, half);
  const cancelled = guard !== null && guard.reference !== null && (await isCancelled(client, batch.id));
  const decision = decide(call, door, sibling, cancelled);
  const settled: Settled = {
    written: guard !== null,
    kind: decision.kind,
    ring: true,
    againInMs: null,
    accepted: false,
    hasNotifications: false,
    awaited: decision.kind === 'finish',
    lanes: [],
  };
  // Already parked (state unknown): only a genuine answer to the same attempt may still change it,
  // since an operator may have decided in the meantime.
  const over = guard === null || guard.state === BATCH_STATES.unknown || guard.concluded;
  if (guard === null || (over && decision.kind !== 'finish')) return { ...settled, written: false, awaited: false };
  const parts: Part[] = [];
  await write(client, call, decision, settled, parts);
  settled.lanes = await home.after(client, call, decision, parts);
  if (stack != null && door.outcome.kind === 'unknown') await noteFault(client, batch.id, attempt, stack);
  if (guard.reference !== null) await followUp(client, call, decision, guard.reference, cancelled);
  if (completion !== undefined) await noteCompletion(client, batch.id, completion);
  if (sibling !== 'refused' || !decidesOther(decision)) return settled;
  const other = await home.concludeHalf(client, call, half!, decision);
  settled.hasNotifications ||= other.hasNotifications;
  settled.awaited = true;
  settled.lanes.push(...other.lanes);
  return settled;
};

/** For an accepted batch: asks the downstream to stop parts whose outcome no longer matters. */
const followUp = async (
  client: Client,
  call: Call,
  decision: Decision,
  reference: string,
  cancelled: boolean,
): Promise<void> => {
  const { batch, handler, absent, overdue = false } = call;
  if (cancelled && decision.kind === 'accept') await cancelAs(client, batch.id, decision.reference);
  if (givesUp(decision, { overdue, absent, idempotency: handler.idempotency }))
    await giveUp(client, batch.id, reference, CANCELLATION_CAUSES.deadline);
};

/** Says whether the outcome of a half is known, so that the refused other half is decided. */
const decidesOther = ({ kind }: Decision): boolean => kind !== 'wait' && kind !== 'resend' && kind !== 'accept';

const write = async (
  client: Client,
  call: Call,
  decision: Decision,
  settled: Settled,
  parts: Part[],
): Promise<void> => {
  const { batch, attempt, members } = call;
  const counts = countsAttempt(decision.kind);
  switch (decision.kind) {
    case 'finish':
      settled.hasNotifications = await finish(client, call, decision, parts);
      return;
    case 'accept': {
      settled.accepted = true;
      settled.ring = false;
      const poll = { everyMs: askEveryMs(call.handler), deadlineMs: call.handler.poll.deadlineMs };
      await store.acceptBatch(client, batch.id, attempt, { reference: decision.reference, ...poll });
      return;
    }
    case 'wait':
      await putOff(client, call, decision);
      if (decision.keep) settled.againInMs = decision.inMs;
      return;
    case 'resend': {
      const { inMs, keep, error } = decision;
      await store.deferBatch(client, batch.id, attempt, { inMs, refused: false, counts, keep, error });
      if (keep) settled.againInMs = inMs;
      return;
    }
    case 'split': {
      const seqs = members.map((member) => member.seq);
      for (const batchId of await insertHalves(client, batch, seqs, decision))
        parts.push({ batchId, as: 'half', inMs: null });
      return;
    }
    case 'await-sibling':
      settled.ring = false;
      await markRefused(client, batch.id, decision.error);
      return;
    case 'halt':
      return halt(client, call, decision);
    case 'park': {
      const { error } = decision;
      await store.parkBatch(client, batch.id, attempt, counts, error);
      const all = members.map((_, index) => index);
      settled.hasNotifications = await notify(client, call, all, [], 'unknown', error);
      return;
    }
  }
};

/** Pauses the target or the handler; the batch or its tasks wait for the resume. */
const halt = async (client: Client, call: Call, decision: Extract<Decision, { kind: 'halt' }>): Promise<void> => {
  const { batch, attempt } = call;
  const { scope, reason, dissolves } = decision;
  if (scope === 'target') await setTargetPaused(client, call.handler.name, batch.target, reason);
  else await pauseHandler(client, call.handler.name, reason);
  const counts = countsAttempt(decision.kind);
  if (dissolves) return store.dissolveBatch(client, batch.id, counts, reason);
  await store.deferBatch(client, batch.id, attempt, { inMs: 0, refused: true, counts, keep: false, error: reason });
};
