import { reduceTargetInLane } from '../../postgres/calls/backPressure';
import { noteFault } from '../../postgres/calls/fault';
import * as lane from '../../postgres/lanes/settle';
import type { Client, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { withRetries } from '../../postgres/errors';
import { insertChild } from '../../postgres/calls/settle';
import type { MemberEnd } from '../../workflows/planning/calls/plans';
import type { LaneBatchStatus } from '../../workflows/planning/lanes/statuses';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { BATCH_STATES, FLUSH_REASONS } from '../../workflows/planning/states';
import type { Call } from '../calls/call';
import type { Decision, LookAgain, Part } from '../calls/door';

/**
 * What an answer means for the batch's lane: what `conclude` writes beyond the batch, in its
 * transaction.
 */

/** Status of a part in its lane. */
const STATUS_OF = {
  half: 'unsubmitted',
  retry: 'delayed',
  unknown: 'unknown',
  parked: 'parked',
} as const satisfies Record<Part['as'], LaneBatchStatus>;

/**
 * Makes a batch of members that are tried again, so that they keep their place, in place of tasks
 * in the queue.
 */
export const insertRetry = async (client: Client, call: Call, back: readonly MemberEnd[]): Promise<Part> => {
  const inMs = back.reduce((most, end) => Math.max(most, end.to === 'retry' ? end.inMs : 0), 0);
  const batchId = await insertChild(client, call.batch.id, {
    members: back.map((end) => call.members[end.index]!.seq),
    state: BATCH_STATES.open,
    reason: FLUSH_REASONS.split,
    unconcluded: false,
    depth: 0,
    error: back[0]!.error,
  });
  return { batchId, as: 'retry', inMs };
};

/**
 * Settles the batch in its lane. Returns the lanes that are ready: its own, and those of batches
 * that depend on it.
 */
export const settleInLane = async (
  client: Client,
  call: Call,
  settlement: Decision,
  parts: readonly Part[],
): Promise<number[]> => {
  const { id } = call.batch;
  const { status, inMs } = nextStatus(call, settlement);
  const moved = await lane.moveLaneBatch(client, id, STATUSES[status], inMs, {
    overdue: call.overdue === true ? 1 : 0,
  });
  if (moved === null) return []; // settled twice: the guard of the batch row let only a true answer through
  const { laneId } = moved;
  if (moved.was === STATUSES.parked) await lane.endHaltBy(client, laneId, id);
  for (const { batchId, as, inMs } of parts)
    await lane.insertPart(client, { batchId, inMs, parentId: id, status: STATUSES[STATUS_OF[as]] });
  if (settlement.kind === 'wait') {
    await lane.holdLane(client, laneId, settlement.inMs);
    // Reduce the concurrency for when the lane continues; holding the whole handler has already
    // reduced it.
    if (settlement.hold === 'lane') await reduceTargetInLane(client, call.batch);
  }
  const parked = parts.find((part) => part.as === 'parked');
  if (status === 'parked') await lane.haltLane(client, laneId, id, asUnknown(errorOf(settlement)));
  else if (parked !== undefined) await lane.haltLane(client, laneId, parked.batchId, asUnknown(parked.error ?? ''));
  else if (status === 'invalid' && moved.onInvalid === 1)
    await lane.haltLane(client, laneId, id, `invalid: ${errorOf(settlement)}`);
  const others = STATUSES[status] >= 10 ? await lane.readyDependents(client, id) : [];
  if (movedOn(call, settlement)) await lane.deleteLaneBatch(client, id);
  return [laneId, ...others];
};

/** Says whether every member went into a part, so that the parts replace the batch. */
const movedOn = (call: Call, settlement: Decision): boolean =>
  settlement.kind === 'split' ||
  (settlement.kind === 'finish' &&
    settlement.ends.length === call.members.length &&
    settlement.ends.every((end) => end.to === 'retry' || end.to === 'unknown'));

const nextStatus = (call: Call, settlement: Decision): { status: LaneBatchStatus; inMs: number | null } => {
  const at = (status: LaneBatchStatus, inMs: number | null = null) => ({ status, inMs });
  // An earlier call may have been applied: keep an uncertain outcome unknown, so that nothing
  // overtakes it.
  const again = (inMs: number | null, status: LaneBatchStatus): ReturnType<typeof at> =>
    at(call.batch.unsure ? 'unknown' : status, inMs);
  switch (settlement.kind) {
    case 'accept':
      return at('pending');
    case 'wait':
      return again(settlement.inMs, 'delayed');
    case 'resend':
      // The batch will be resent with the same key: it is unsubmitted again, and first in its lane.
      return at('unsubmitted', settlement.inMs);
    case 'halt':
      return again(0, 'unsubmitted');
    case 'park':
      return at('parked');
    case 'split':
      return at('skipped'); // for the moment: it is deleted as soon as its parts are in its place
    case 'await-sibling':
      return at('refused');
    case 'finish': {
      const { ends, state } = settlement;
      if (ends.length === call.members.length && ends.every((end) => end.to === 'cancelled')) return at('cancelled');
      const applied = state === 'succeeded' && ends.length < call.members.length;
      return at(applied ? 'committed' : movedOn(call, settlement) ? 'skipped' : 'invalid');
    }
  }
};

const errorOf = (settlement: Decision): string =>
  'error' in settlement && settlement.error !== undefined
    ? settlement.error
    : settlement.kind === 'finish'
      ? (settlement.ends.find((end) => end.error !== '')?.error ?? 'refused by the downstream')
      : 'no reason was given';

const asUnknown = (error: string): string => (error.startsWith('unknown: ') ? error : `unknown: ${error}`);

/**
 * Keeps a batch unknown, and first in its lane, until it is looked up again: looked up too early to
 * be believed, or (`counts`) without a clear answer. One transaction: a process that dies in
 * between leaves it as it was, to be taken back from its submitter.
 */
export const lookAgainInLane = (pool: Pool, call: Call, look: LookAgain): Promise<number[] | null> =>
  withRetries(() =>
    inTransaction(pool, async (client) => {
      const { id } = call.batch;
      const { inMs, error } = look;
      if (!(await lane.postponeInLane(client, { id, attempt: call.attempt, inMs, error }))) return null;
      if (call.stack != null) await noteFault(client, id, call.attempt, call.stack);
      const counted = { lookUps: look.counts ? 1 : 0, overdue: call.overdue === true ? 1 : 0 };
      const moved = await lane.moveLaneBatch(client, id, STATUSES.unknown, inMs, counted);
      return moved === null ? [] : [moved.laneId];
    }),
  );
