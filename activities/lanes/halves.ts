import type { CarriedBatch } from '../../postgres/calls/batch';
import { readMembers } from '../../postgres/calls/batch';
import type { Pair } from '../../postgres/calls/halves';
import { lockPair, lockRefused, reopenRefused } from '../../postgres/calls/halves';
import * as lane from '../../postgres/lanes/settle';
import type { Client } from '../../postgres/pool';
import { insertNotices } from '../../postgres/calls/records';
import * as settle from '../../postgres/calls/settle';
import type { Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { BATCH_STATES, TASK_STATES } from '../../workflows/planning/states';
import { noticesOf } from '../callbacks/notices';
import type { Call } from '../calls/call';

/**
 * "Both halves of the first split are refused: it is not a poison task" (H4), in a lane. There a
 * half must not be asked before all of the one before it was applied, so its first two tasks are
 * the halves that tell: the first one refused alone waits (status refused, which blocks nothing,
 * since it was not applied); is the second refused alone too, the handler is paused and both are as
 * if they had not been sent. In a lane that halts on an invalid batch the halt does that.
 */
export const findPair = async (client: Client, batch: CarriedBatch): Promise<Pair | null> =>
  batch.inLane && batch.n === 1 && batch.depth >= 1 && batch.parentId !== null
    ? lockPair(client, batch.parentId, batch.id)
    : null;

export const pairState = (batch: CarriedBatch, pair: Pair | null): SettlementContext['sibling'] => {
  if (batch.depth < 1) return null;
  if (pair === null || pair.state !== BATCH_STATES.open) return 'other';
  return pair.refused ? 'refused' : pair.leads ? 'pending' : 'other';
};

/**
 * What was put off for the first is decided: sent again after all, or failed for good. Answers
 * lanes to look at, and whether somebody is to be told.
 */
export const concludePair = async (
  client: Client,
  call: Call,
  pair: Pair,
  mine: Settlement,
): Promise<{ lanes: number[]; notices: boolean }> => {
  const error = await lockRefused(client, pair.id);
  if (mine.kind === 'halt') {
    await reopenRefused(client, pair.id);
    const moved = await lane.moveSubmission(client, pair.id, STATUSES.unsubmitted);
    return { lanes: moved === null ? [] : [moved.laneId], notices: false };
  }
  const members = await readMembers(client, [pair.id]);
  await settle.insertOutcomes(
    client,
    pair.id,
    members.map(({ seq, attempts }) => ({ seq, state: TASK_STATES.failed, attempts: attempts + 1, error })),
  );
  await settle.finishBatch(client, pair.id, BATCH_STATES.failed, true, members.length, error);
  const moved = await lane.moveSubmission(client, pair.id, STATUSES.invalid);
  const others = await lane.readyDependents(client, pair.id);
  const theirs: Call = { ...call, batch: { ...call.batch, id: pair.id, n: 1 }, attempt: pair.attempt, members };
  const notices = noticesOf(theirs, [], [{ index: 0, to: 'failed', error }], 'failed', error);
  if (notices.length > 0) await insertNotices(client, notices);
  return { lanes: [...(moved === null ? [] : [moved.laneId]), ...others], notices: notices.length > 0 };
};
